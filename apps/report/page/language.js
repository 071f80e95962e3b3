// Chinese or English: both are in the page, and the language of its root says which is seen. A link
// to another page takes the choice with it: note-A.html?lang=zh#A37-1.

const root = document.documentElement;
const languageNow = () => (root.lang === "en" ? "en" : "zh");

function show(language) {
  root.lang = language === "en" ? "en" : "zh-CN";
  document.title = root.dataset[language];
  for (const link of document.querySelectorAll("a[data-page]")) {
    link.setAttribute("href", link.getAttribute("data-page").replace(/(#.*)?$/, `?lang=${language}$1`));
  }
  document.dispatchEvent(new Event("language"));
}

function remember(language) {
  try {
    history.replaceState(null, "", `?lang=${language}${location.hash}`);
  } catch {
    // A page that may not change its address shows the choice all the same.
  }
}

// What is at the top of the screen stays there when the texts above change their height.
function keepingPlace(change) {
  const seen = [...document.querySelectorAll("section, article, li")].find(
    (part) => part.getBoundingClientRect().bottom > 0,
  );
  const before = seen?.getBoundingClientRect().top ?? 0;
  change();
  if (seen && scrollY > 0) scrollBy(0, seen.getBoundingClientRect().top - before);
}

export function keepLanguage() {
  for (const link of document.querySelectorAll("a[href]")) {
    const address = link.getAttribute("href");
    if (/^[\w-]+\.html/.test(address)) link.setAttribute("data-page", address);
  }
  const asked = new URLSearchParams(location.search).get("lang");
  if (asked === "en" || asked === "zh") show(asked);
  const button = document.querySelector("#language");
  button.removeAttribute("hidden");
  button.addEventListener("click", () => {
    const other = languageNow() === "en" ? "zh" : "en";
    keepingPlace(() => show(other));
    remember(other);
  });
}
