document.getElementById("lesson").textContent = "…";
