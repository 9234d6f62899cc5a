// What pages do with a script and can do without: local times, buttons that copy, a key for the search, and the progress of a
// simulation. Nothing here changes what a page says.
const pad = (n) => String(n).padStart(2, "0");

// Times are UTC in the page. Here they are in the zone of the browser; the title keeps UTC.
function local(time) {
  const t = new Date(time.dateTime);
  if (isNaN(t)) return;
  const zone = new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts(t).find((part) => part.type === "timeZoneName").value;
  const text = `${t.getFullYear()}-${pad(t.getMonth() + 1)}-${pad(t.getDate())} ${pad(t.getHours())}:${pad(t.getMinutes())}:${pad(t.getSeconds())} ${zone}`;
  if (time.textContent !== text) {
    time.title = time.textContent;
    time.textContent = text;
  }
}

function copyButton(of) {
  if (of.nextElementSibling?.matches("button.copy") || !navigator.clipboard) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = document.body.dataset.copy;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(of.textContent.trim());
    } catch {
      getSelection().selectAllChildren(of); // the browser does not let pages write
      return;
    }
    button.textContent = document.body.dataset.copied;
    setTimeout(() => { button.textContent = document.body.dataset.copy; }, 2000);
  });
  of.after(button);
}

function dress() {
  document.querySelectorAll("time[datetime]").forEach(local);
  document.querySelectorAll(".command").forEach(copyButton);
}

document.addEventListener("htmx:afterSwap", dress); // the page follows the cluster
dress();

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  const search = document.querySelector("main input[type=search]");
  if (search) {
    event.preventDefault();
    search.focus();
    search.select();
  }
});

// The page of a simulation stays until the answer comes. Meanwhile it says how far the simulation is.
function follow(form, running) {
  const text = running.querySelector("span");
  const run = form.elements.run.value;
  const begun = Date.now();
  const timer = setInterval(async () => {
    const seconds = `${Math.round((Date.now() - begun) / 1000)} s`;
    try {
      const answer = await fetch(`${running.dataset.running}?run=${run}`);
      const at = answer.ok ? await answer.json() : null;
      const stage = at && running.dataset[at.what];
      const cycle = stage && at.cycle > 0 ? `, ${running.dataset.cycle} ${at.cycle}` : "";
      text.textContent = stage ? `${stage}${cycle}, ${seconds}` : seconds;
    } catch {
      text.textContent = seconds; // the server does not answer, or the page goes
    }
  }, 500);
  window.addEventListener("pagehide", () => clearInterval(timer), { once: true });
}

document.addEventListener("submit", (event) => {
  const running = event.target.querySelector("[data-running]");
  if (running && !event.submitter?.name) { // other buttons simulate nothing
    running.hidden = false;
    follow(event.target, running);
  }
});
// A page that the browser kept is shown without its progress.
window.addEventListener("pageshow", () => {
  document.querySelectorAll("[data-running]").forEach((running) => { running.hidden = true; });
});
