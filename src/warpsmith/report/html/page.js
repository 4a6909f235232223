"use strict";
// Sorting and filtering the table of evaluations, and unfolding for print.
(() => {
  const table = document.getElementById("evaluation-table");
  if (table) {
    const body = table.tBodies[0], rows = [...body.rows];
    const outcomeColumn = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent === "outcome");
    const text = document.getElementById("filter-text"), outcome = document.getElementById("filter-outcome");
    const count = document.getElementById("filter-count");

    const filter = () => {
      const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const has = row.textContent.toLowerCase();
        const fits = !outcome.value || row.cells[outcomeColumn].textContent === outcome.value;
        row.hidden = !(fits && words.every((word) => has.includes(word)));
        shown += !row.hidden;
      }
      count.textContent = `${shown} of ${rows.length}`;
    };
    text.addEventListener("input", filter);
    outcome.addEventListener("input", filter);
    document.getElementById("filters").addEventListener("submit", (event) => event.preventDefault());
    document.getElementById("filters").hidden = false;
    filter();

    // Times are written in two units; a dash, where there is no figure, comes last either way.
    const value = (row, column) => {
      const said = row.cells[column].textContent.trim();
      const number = parseFloat(said) * (said.endsWith("ms") ? 1000 : 1);
      return said === "-" || said === "" ? null : Number.isNaN(number) ? said : number;
    };
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        rows.sort((one, other) => {
          const a = value(one, column), b = value(other, column);
          if (a === null || b === null) return (a === null) - (b === null);
          const order = typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1;
          return up ? order : -order;
        });
        body.append(...rows);
      });
    });
  }
  // All but the diff, which would be most of the paper.
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details:not(:has(.diff))")) part.open = true;
  });
})();
