"use strict";
(() => {
  const table = document.getElementById("items-table");
  if (!table) return;
  const rows = Array.from(table.tBodies[0].rows);
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const search = document.getElementById("search");
  const choices = Array.from(document.querySelectorAll("select[data-filter]"));
  const counter = document.getElementById("shown-count");
  const update = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, place) => {
      const fits = words.every((word) => texts[place].includes(word))
        && choices.every((choice) => !choice.value || row.getAttribute("data-" + choice.dataset.filter) === choice.value);
      row.hidden = !fits;
      shown += fits;
    });
    counter.textContent = shown + " of " + rows.length + " items";
  };
  search.addEventListener("input", update);
  choices.forEach((choice) => choice.addEventListener("change", update));
  document.getElementById("filters").hidden = false;
  update();
})();
