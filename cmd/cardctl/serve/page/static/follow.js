// Keeps one stream of a page open. Each reading of the cluster replaces the page and connects it again, and a browser that has
// opened some six connections to a server loads nothing more from it.
let stream;
htmx.createEventSource = (address) => {
  stream?.close();
  stream = new EventSource(address, {withCredentials: true});
  return stream;
};

// A user who logs out has no access to the stream. The page is about to go, and neither follows nor connects again.
let leaving = false;
document.addEventListener("submit", (event) => {
  if (!event.target.matches("form.user")) return;
  leaving = true;
  stream?.close();
});
document.addEventListener("htmx:beforeSwap", (event) => { if (leaving) event.detail.shouldSwap = false; });

// Shows a line while the server does not answer. Without it, a page that follows the cluster
// would look as if nothing changed.
const lost = document.getElementById("lost");
document.addEventListener("htmx:sseError", () => { lost.hidden = false; });
document.addEventListener("htmx:sseOpen", () => { lost.hidden = true; });
