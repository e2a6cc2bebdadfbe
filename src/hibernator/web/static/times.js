// Shows moments on the reader's own clock. Without it they are in UTC or on the plan's clock, which is said
// beside them, and stays to be seen when one points at them.
const whole = new Intl.DateTimeFormat(undefined, {
  weekday: "short", day: "numeric", month: "short", year: "numeric",
  hour: "2-digit", minute: "2-digit", timeZoneName: "short",
});
const near = { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" };
const short = new Intl.DateTimeFormat(undefined, near);
const shortWithYear = new Intl.DateTimeFormat(undefined, { ...near, year: "numeric" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

let ahead = 0; // of the reader's clock, in milliseconds

// How far away a moment is, as the server words it.
export function distance(moment, now) {
  const minutes = Math.floor(Math.abs(moment - now) / 60000);
  const hours = Math.floor(minutes / 60), days = Math.floor(minutes / 1440);
  if (!minutes) return "now";
  const rest = minutes % 60 && hours < 6 ? ` ${minutes % 60} min` : "";
  const words = days > 1 ? `${days} days` : hours ? `${hours} h${rest}` : `${minutes} min`;
  return moment > now ? `in ${words}` : `${words} ago`;
}

export function showTimes(root) {
  for (const element of root.querySelectorAll("time[datetime]:not([data-near], [data-day])")) {
    const moment = new Date(element.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    if (!("clock" in element.dataset)) element.title = element.textContent;
    element.textContent = formatOf(element, moment).format(moment);
  }
  countDown(root);
}

function formatOf(element, moment) {
  if ("clock" in element.dataset) return clock;
  if (!("short" in element.dataset)) return whole;
  return moment.getFullYear() === new Date().getFullYear() ? short : shortWithYear;
}

// The server's clock counts for what is still to come: the reader's may be wrong, and a demo's runs fast.
export function setNow(text) {
  const found = Date.parse(text);
  if (!Number.isNaN(found)) ahead = found - Date.now();
}

export function countDown(root) {
  for (const element of root.querySelectorAll("time[data-near]")) {
    const moment = new Date(element.dateTime);
    if (!Number.isNaN(moment.getTime())) element.textContent = distance(moment, Date.now() + ahead);
  }
}

const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
for (const note of document.querySelectorAll("[data-zone]")) {
  note.textContent = `Times are on your clock: ${timeZone}. Timelines are on the clock of their plan or scaler.`;
}
setNow(document.body.dataset.now);
showTimes(document);
