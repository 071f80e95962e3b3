// The script of the page stands in it packed, as its document does. Its digest is in the page's policy, so it may run.
import { unpacked } from "./ops/numbers.js";

const script = document.createElement("script");
script.type = "module";
script.textContent = await unpacked(document.getElementById("script").textContent);
document.body.append(script);
