// Saving and copying.

function saveFile(name, type, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}
byId("save").addEventListener("click", () => saveFile("report.json", "application/json", JSON.stringify(facts)));
for (const button of document.querySelectorAll(".copy")) {
  button.addEventListener("click", () => {
    const code = button.closest("figure").querySelector("code");
    getSelection().selectAllChildren(code);
    document.execCommand("copy");
    button.textContent = "Copied";
  });
}

startProjections();
startRow();
startDimension();
startTime();
startConfusion();
startCurves();
startLoadings();
startMap();
startChoices();
setDark(dark, false);
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) paintAll();
  width = innerWidth;
});
document.documentElement.dataset.ready = "yes";
