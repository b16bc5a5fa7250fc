// The newest answers of a query as a table. Text from data is only ever set as text.
function cells(row, kind, texts) {
  for (const [shown, title] of texts) {
    const cell = document.createElement(kind);
    cell.textContent = shown;
    cell.title = title;
    cell.style.textAlign = "left";
    row.append(cell);
  }
}

function render({ model, el }) {
  const table = document.createElement("table");
  const caption = table.createCaption();
  caption.style.textAlign = "left";
  const head = table.createTHead();
  const body = table.createTBody();
  el.append(table);

  function show() {
    const state = model.get("state");
    caption.textContent = state.caption;
    const header = document.createElement("tr");
    cells(header, "th", state.columns.map((name) => [name, ""]));
    head.replaceChildren(header);
    body.replaceChildren(
      ...state.rows.map((texts) => {
        const row = document.createElement("tr");
        cells(row, "td", texts);
        return row;
      }),
    );
  }

  model.on("change:state", show);
  show();
}

export default { render };
