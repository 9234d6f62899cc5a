// Shows a line while the server does not answer. Without it, a page that follows the cluster
// would look as if nothing changed.
const lost = document.getElementById("lost");
document.addEventListener("htmx:sseError", () => { lost.hidden = false; });
document.addEventListener("htmx:sseOpen", () => { lost.hidden = true; });
