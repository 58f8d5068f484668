/** Rules of step 3 that the page says in words. */

/** The minimum of workers a round needs, as the launch sets it: all of one or two, else two thirds rounded up. */
export function minimumWorkers(workers: number): number {
  return workers <= 2 ? workers : Math.ceil((2 * workers) / 3);
}
