// Before the first paint, so that a chosen theme never flashes; a file of its own because the policy forbids inline scripts.
(() => {
  try {
    const theme = localStorage.getItem("tutti.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // storage is forbidden: the system's theme it is
  }
})();
