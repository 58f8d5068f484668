/** Every view is an address: the hash holds the page, its names and its query, so any static host serves it. */

export const STEPS = ["name", "training", "federation", "model", "advanced", "validate", "launch"] as const;
export type Step = (typeof STEPS)[number];

export type Place =
  | { readonly page: "start" | "jobs" | "files" | "profile" | "absent" }
  | { readonly page: "wizard"; readonly step: Step }
  | { readonly page: "job"; readonly id: string }
  | { readonly page: "help"; readonly topic: string };

export interface Route {
  readonly place: Place;
  readonly query: ReadonlyMap<string, string>;
}

type Query = Readonly<Record<string, string | number | null | undefined>>;

/** The route of a hash such as `#/submit/training?draft=x`; an address that is none becomes the page "absent". */
export function readHash(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  return { place: placeOf(path.split("/").filter(Boolean).map(decoded)), query: new Map(new URLSearchParams(search)) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function placeOf(parts: readonly string[]): Place {
  const [first, second] = parts;
  if (parts.length === 0) return { page: "start" };
  if (parts.length === 1 && (first === "jobs" || first === "files" || first === "profile")) return { page: first };
  if (parts.length !== 2 || second === undefined) return { page: "absent" };
  if (first === "submit" && isStep(second)) return { page: "wizard", step: second };
  if (first === "jobs") return { page: "job", id: second };
  return first === "help" ? { page: "help", topic: second } : { page: "absent" };
}

export function isStep(word: string): word is Step {
  return (STEPS as readonly string[]).includes(word);
}

/** The address of a place; empty values are left out of the query. */
export function href(place: Place, query: Query = {}): string {
  const kept = Object.entries(query).flatMap(([key, value]) => (value === null || value === undefined || value === "" ? [] : [[key, String(value)]]));
  const search = new URLSearchParams(kept).toString();
  return `#/${pathOf(place)}${search && `?${search}`}`;
}

function pathOf(place: Place): string {
  switch (place.page) {
    case "start":
    case "absent":
      return "";
    case "wizard":
      return `submit/${place.step}`;
    case "job":
      return `jobs/${encodeURIComponent(place.id)}`;
    case "help":
      return `help/${encodeURIComponent(place.topic)}`;
    default:
      return place.page;
  }
}

/** The same route with some of its query replaced; null removes a key. */
export function withQuery(route: Route, changes: Query): string {
  return href(route.place, { ...Object.fromEntries(route.query), ...changes });
}

/** The profile page's address, which leads back to `here` once there is a bucket. */
export function bucketHref(here: Route): string {
  return href({ page: "profile" }, { back: withQuery(here, {}).slice(1) });
}

/** Where to go back to from there; nothing else than a view of this console. */
export function backOf(route: Route): string | null {
  const back = route.query.get("back");
  if (back === undefined) return null;
  return readHash(`#${back}`).place.page === "absent" ? "#/" : `#${back}`;
}

/** What a link back to this address is called. */
export function nameOf(hash: string): string {
  const { place } = readHash(hash);
  return NAMES[place.page];
}

const NAMES: Readonly<Record<Place["page"], string>> = {
  start: "Submit job",
  wizard: "your job",
  jobs: "Jobs",
  job: "the job",
  files: "Files",
  profile: "Profile & bucket",
  help: "the guide",
  absent: "the start page",
};
