/** The few symbols of the console, drawn on a 16 × 16 grid. */
export const PATHS = {
  back: "M9.5 3 4.5 8l5 5",
  close: "M4 4l8 8M12 4l-8 8",
  down: "M8 3v9M4 8.5 8 12.5l4-4",
  up: "M8 13V4M4 7.5 8 3.5l4 4",
  folder: "M2 4.5h4l1.5 1.5H14v6.5H2z",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  trash: "M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5 5 13.5h6l.5-9",
  pause: "M6 4v8M10 4v8",
  menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
  play: "M5 3.5v9l7-4.5z",
  plus: "M8 3v10M3 8h10",
  check: "M3 8.5 6.5 12 13 4.5",
  copy: "M6 6h7v7H6zM3 10V3h7",
  refresh: "M13 8a5 5 0 1 1-1.5-3.6M13 2.5V5h-2.5",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5 14 14",
} as const;

export type IconName = keyof typeof PATHS;
