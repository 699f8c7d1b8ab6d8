// Keys of the review press the buttons and links that the page shows.
const targets = {
  a: "button[value=approve]",
  r: "button[value=reject]",
  e: "a[data-key=e]",
  j: "a[data-key=j]",
  k: "a[data-key=k]",
  u: "button[data-key=u]",
};

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "?") {
    const keys = document.querySelector("#keys");
    keys.tabIndex = -1;
    keys.focus();
    return;
  }
  const target = targets[event.key] && document.querySelector(targets[event.key]);
  if (!target) return;
  event.preventDefault();
  target.click();
});
