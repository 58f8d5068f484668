/** Whether the console can be reached. The browser alone cannot say: a laptop without a network still reaches its own stack. */

export async function reachable(): Promise<boolean> {
  try {
    await fetch("./config.json", { cache: "no-store", method: "HEAD" });
    return true;
  } catch {
    return false;
  }
}
