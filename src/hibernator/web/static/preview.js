// The preview follows what is typed. Without this module, the button "Preview" does the same.
const form = document.querySelector("form[data-preview]");
const pause = 350; // ms without a key
let timer = 0;
let last = null;

async function show() {
  last?.abort();
  last = new AbortController();
  const data = new FormData(form);
  data.set("do", "preview");
  let answer;
  try {
    answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(data), signal: last.signal });
  } catch {
    return; // a newer one is under way, or the network is: the button says which
  }
  if (answer.status === 401) {
    say("Your log-in is over. Press Preview to log in: what you typed is kept.");
    return;
  }
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("preview");
  const old = document.getElementById("preview");
  if (!fresh || !old) return;
  const open = [...old.querySelectorAll("details")].map((one) => one.open);
  fresh.querySelectorAll("details").forEach((one, number) => { one.open = open[number] ?? false; });
  old.replaceChildren(...fresh.childNodes);
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
