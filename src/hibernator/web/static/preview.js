// The preview follows what is typed. Without this module, the button "Preview" does the same.
import { morph } from "./morph.js";

const form = document.querySelector("form[data-preview]");
const pause = 350; // ms without a key
let timer = 0;
let last = null;

async function show() {
  last?.abort();
  last = new AbortController();
  const data = new FormData(form);
  data.set("do", "preview");
  try {
    const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(data), signal: last.signal });
    if (answer.status === 401) return say("Your log-in is over. Press Preview to log in: what you typed is kept.");
    if (!answer.ok) return say("There is no preview of this yet. Press Preview to see why: what you typed is kept.");
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    morph(document.getElementById("preview"), page.getElementById("preview"));
  } catch (error) {
    if (error.name !== "AbortError") say("No answer: there is no preview of this yet. Type on, or press Preview, to try again.");
  }
}

function say(words) {
  const problem = document.createElement("p");
  problem.className = "problem";
  problem.textContent = words;
  document.getElementById("preview").replaceChildren(problem);
}

if (form) {
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(show, pause);
  });
}
