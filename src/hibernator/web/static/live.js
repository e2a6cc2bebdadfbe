// Keeps a page true: hears of changes, fetches the page again, and changes what differs. It stays connected by
// WebSocket; where none gets through, it asks, and the server answers when there is something new.
import { morph } from "./morph.js";
import { setNow, showTimes } from "./times.js";

const asked = { headers: { "x-hibernator-live": "1" } };
const silent = 12000; // ms after which a connection is given up: it says something every five seconds
const seldom = 60000; // ms after which a page is fetched again, whatever is heard
const body = document.body;
let fresh = Date.now(); // when the page was known to be true
let fetched = Date.now();
let trouble = false; // no answer came
let over = false; // the log-in

export async function follow() {
  let retry = 0; // when to try the next WebSocket
  for (;;) {
    let heard = false;
    if (Date.now() >= retry) {
      heard = await listen();
      if (!heard) retry = Date.now() + 60000;
    }
    if (!heard && !over) await ask();
    if (over) return say("Your log-in is over. Load the page again to log in.");
    await pause(250);
  }
}

// Stays connected for as long as it goes; resolves to whether anything was heard.
function listen() {
  return new Promise((ended) => {
    const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/live?${question()}`);
    const leave = () => socket.close();
    let heard = false, timer = setTimeout(leave, 4000); // the first word comes at once
    addEventListener("offline", leave);
    socket.onmessage = ({ data }) => {
      heard = true;
      clearTimeout(timer);
      timer = setTimeout(leave, silent);
      const { changed, wait } = JSON.parse(data);
      if (changed || Date.now() - fetched > seldom) update(wait);
      else if (!updating) isTrue();
    };
    socket.onclose = () => {
      clearTimeout(timer);
      removeEventListener("offline", leave);
      ended(heard);
    };
  });
}

async function ask() {
  if (trouble) return update();
  try {
    const answer = await fetch(`/live?${question()}`, asked);
    if (answer.status === 401) return void (over = true);
    if (!answer.ok) throw new Error(answer.status);
    if (answer.status === 200 || Date.now() - fetched > seldom) await update();
    else isTrue();
  } catch {
    isStale();
  }
}

let updating = false, again = false;

// Fetches the page, once for many changes, and never faster than the server can make it.
async function update(wait = 0) {
  again = true;
  if (updating) return;
  updating = true;
  await pause(wait);
  while (again && !over) {
    again = false;
    const began = Date.now();
    try {
      await refresh();
      isTrue();
    } catch {
      again = true;
      isStale();
      await pause(1500);
      continue;
    }
    await pause(document.hidden ? 5000 : Math.max(250, 3 * (Date.now() - began)));
  }
  updating = false;
}

async function refresh() {
  const answer = await fetch(location.href, asked);
  if (answer.status === 401) return void (over = true);
  const gone = answer.status === 404; // deleted, or not to be seen any more: then nothing of it stays
  if (!answer.ok && !gone) throw new Error(answer.status);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  fetched = Date.now();
  body.dataset.version = page.body.dataset.version ?? "";
  setNow(page.body.dataset.now);
  document.title = page.title;
  document.querySelector("link[rel=icon]").href = page.querySelector("link[rel=icon]").href;
  for (const old of document.querySelectorAll("[data-count]")) {
    old.replaceChildren(...(page.querySelector("[data-count]")?.childNodes ?? []));
  }
  showTimes(page.body);
  const main = document.getElementById("main"), newer = page.getElementById("main");
  const names = (root) => [...root.querySelectorAll("[data-live]")].map((one) => one.id).join();
  if (gone) main.replaceChildren(...newer.childNodes);
  else if (names(newer) !== names(main)) morph(main, newer);
  else for (const one of newer.querySelectorAll("[data-live]")) morph(document.getElementById(one.id), one);
}

function question() {
  return new URLSearchParams({ topics: body.dataset.topics, since: body.dataset.version });
}

function isTrue() {
  fresh = Date.now();
  trouble = false;
  say("");
}

function isStale() {
  trouble = true;
  if (Date.now() - fresh > 5000) say(`No answer: this page is as it was at ${new Date(fresh).toLocaleTimeString()}.`);
}

function say(words) {
  const place = document.getElementById("stale");
  if (place.textContent !== words) place.textContent = words;
  place.hidden = !words;
}

// A little longer or shorter for each page; a page that comes to the front waits no longer.
function pause(milliseconds) {
  return new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", end);
      done();
    };
    const timer = setTimeout(end, milliseconds * (1 + Math.random() / 4));
    document.addEventListener("visibilitychange", end);
  });
}
