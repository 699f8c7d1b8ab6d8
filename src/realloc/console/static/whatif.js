// Sliders over the number fields of the what-if. Without script the form works by itself.
const form = document.querySelector("form.whatif");
const fields = [...form.querySelectorAll("input[type=number]")];
const locks = [...form.querySelectorAll(".slider input[type=checkbox]")];
const answer = form.querySelector("output");
const shares = fields.map((field) => Number(field.value));
let waiting = null;
let asked = 0;

const sliders = fields.map((field, k) => {
  const slider = document.createElement("input");
  slider.type = "range";
  slider.min = "0";
  slider.max = "100";
  slider.step = "0.1";
  slider.value = field.value;
  slider.setAttribute("aria-label", `Share of ${field.closest(".slider").querySelector("label").textContent}`);
  slider.addEventListener("input", () => change(k, Number(slider.value)));
  const bar = field.closest(".slider").querySelector("svg");
  const track = document.createElement("div");
  track.className = "track";
  bar.replaceWith(track);
  track.append(bar, slider);
  field.addEventListener("change", () => change(k, Number(field.value)));
  return slider;
});

// The changed channel takes from, or gives to, those that are not kept, in proportion.
function change(k, wanted) {
  const free = shares.map((_, j) => j).filter((j) => j !== k && !locks[j].checked);
  const kept = shares.reduce((sum, share, j) => (j !== k && locks[j].checked ? sum + share : sum), 0);
  const most = 100 - kept;
  const share = free.length ? Math.min(Math.max(wanted || 0, 0), most) : most;
  const held = free.reduce((sum, j) => sum + shares[j], 0);
  for (const j of free) {
    shares[j] = ((most - share) * (held > 0 ? shares[j] / held : 1 / free.length));
  }
  shares[k] = share;
  show();
  clearTimeout(waiting);
  waiting = setTimeout(ask, 60);
}

function show() {
  shares.forEach((share, j) => {
    fields[j].value = share.toFixed(1);
    sliders[j].value = String(share);
  });
}

async function ask() {
  const mine = ++asked;
  const query = new URLSearchParams();
  for (const name of ["run", "row"]) query.set(name, form.elements[name].value);
  shares.forEach((share, j) => query.set(`to${j}`, share.toFixed(4)));
  try {
    const response = await fetch(`${form.dataset.address}?${query}`);
    if (mine !== asked) return;
    if (!response.ok) throw new Error(String(response.status));
    const told = await response.json();
    answer.className = `answer ${told.tone}`;
    answer.children[0].textContent = told.headline;
    answer.children[1].textContent = told.detail;
    document.querySelector("#whatif pre").textContent = told.toml;
    const edit = document.querySelector("input[name=shares]");
    if (edit) edit.value = told.shares.join(",");
    history.replaceState(null, "", `/item?${query}#whatif`);
  } catch {
    answer.className = "answer bad";
    answer.children[0].textContent = "The console does not answer.";
    answer.children[1].textContent = "Load the page again.";
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
