/** A job as its page shows it, folded from the live feed. */

import type { Shapes } from "./api";
import { duration } from "./quantities";

export type JobView = Shapes["JobView"];
export type Worker = Shapes["WorkerView"];
export type Live = Shapes["LiveView"];
type Change = Shapes["FeedItem"]["change"];

export interface Picture {
  readonly job: JobView | null;
  readonly workers: readonly Worker[];
  /** Warnings so far, the newest last; those about a worker that is silent or stuck now are in `attention`. */
  readonly warnings: readonly string[];
  /** Workers that are silent now, each with what was said of it. */
  readonly silent: ReadonlyMap<string, string>;
  /** Grows with each round that ended, so that the table is asked for again. */
  readonly roundsEnded: number;
  /** Grows with each log segment that was stored. */
  readonly segments: number;
}

export const EMPTY: Picture = { job: null, workers: [], warnings: [], silent: new Map(), roundsEnded: 0, segments: 0 };

/** The picture after one more answer. */
export function painted(before: Picture, answer: Live): Picture {
  const fresh = answer.workers ?? [];
  const known = before.workers.filter(({ site }) => !fresh.some((worker) => worker.site === site));
  const changes = (answer.feed ?? []).map(({ change }) => change);
  return {
    job: answer.job ?? before.job,
    workers: [...known, ...fresh].sort((a, b) => siteOrder(a.site) - siteOrder(b.site)),
    warnings: [...before.warnings, ...changes.flatMap((change) => (change.kind === "warning" && !PASSING.has(change.code) ? [change.sentence] : []))],
    silent: changes.reduce(silentAfter, before.silent),
    roundsEnded: before.roundsEnded + changes.filter(({ kind }) => kind === "round_ended").length,
    segments: before.segments + changes.filter(({ kind }) => kind === "log").length,
  };
}

/** Warnings that are over when the worker shows itself again. */
const PASSING = new Set(["worker_silent", "worker_stuck"]);

function silentAfter(silent: Picture["silent"], change: Change): Picture["silent"] {
  if (change.kind === "warning" && change.code === "worker_silent" && change.site) return new Map([...silent, [change.site, change.sentence]]);
  const heard = change.kind === "phase" || change.kind === "metrics" ? change.site : change.kind === "log" ? change.source : null;
  return heard !== null && silent.has(heard) ? new Map([...silent].filter(([site]) => site !== heard)) : silent;
}

/** A worker that needs somebody's eyes, and why. */
export interface Attention {
  readonly site: string;
  readonly what: string;
  readonly todo: string;
}

/** Who is silent or does not move now, while the job runs. */
export function attention(picture: Picture, now: number): readonly Attention[] {
  const job = picture.job;
  if (job === null || job.ending !== null || !isUnderWay(job)) return [];
  return picture.workers.flatMap((worker) => {
    if (worker.done || worker.failed) return [];
    const silent = picture.silent.get(worker.site);
    if (silent !== undefined) return [{ site: worker.site, what: silent, todo: withoutIt(job, worker.site, picture.silent.size) }];
    if (!worker.stuck_since) return [];
    const since = duration((now - Date.parse(worker.stuck_since)) / 1000);
    return [{ site: worker.site, what: `${worker.site} has shown no progress for ${since}.`, todo: "It lives and nobody ends it for that: its work may just take long. Its log says what it does; Stop job ends everything." }];
  });
}

function withoutIt(job: JobView, site: string, silent: number): string {
  if (site === "server") return "Without the central server the job cannot go on.";
  const left = job.workers - job.lost - silent;
  return left >= job.minimum && job.state === "RUNNING"
    ? `The round can finish without it: ${job.minimum} of ${job.workers} results are enough.`
    : `The job needs it: ${job.state === "PENDING" ? "all workers must join" : `${job.minimum} of ${job.workers} results are the least`}.`;
}

export function isUnderWay(job: JobView): boolean {
  return job.state === "PENDING" || job.state === "RUNNING";
}

/** Where a reason points: `site-2 · scripts/model_def.py, line 31 · round 1 · your code`. */
export function placeOf(reason: Shapes["Reason"]): string {
  const file = reason.file ? `${reason.file}${reason.line ? `, line ${reason.line}` : ""}` : "";
  const round = reason.round === null || reason.round === undefined ? "" : `round ${reason.round + 1}`;
  const fault = reason.fault === "nobody" ? "" : `at fault: ${reason.fault.replace("_", " ").replace("provider", "the provider").replace("platform", "the platform, not you")}`;
  return [siteName(reason.site ?? ""), file, round, fault].filter(Boolean).join(" · ");
}

/** A site as people say it. */
export function siteName(site: string): string {
  return site === "server" ? "central server" : site;
}

/** The server first, then site-1, site-2 … site-10. */
export function siteOrder(site: string): number {
  return site === "server" ? 0 : Number(/\d+$/.exec(site)?.[0] ?? Number.MAX_SAFE_INTEGER);
}

/** What a worker does now, in words. */
export function doing(worker: Worker): string {
  if (worker.failed) return "failed";
  if (worker.done) return "done";
  const progress = worker.step !== null && worker.step !== undefined && worker.of ? `, ${worker.step} of ${worker.of}` : "";
  return `${worker.phase}${worker.phase === "training" ? progress : ""}`;
}

export interface RoundRow {
  readonly round: number;
  readonly loss: number | null;
  readonly accepted: number;
  readonly refused: readonly (readonly [string, string])[];
  readonly samples: number;
  readonly seconds: number | null;
}

/** The rounds as rows, counted from 1 as pages do; the loss is the mean the server reports, by the first name that is one. */
export function roundRows(rounds: readonly Shapes["RoundView"][]): readonly RoundRow[] {
  return rounds.map((view) => {
    const means = view.metrics["server"] ?? {};
    const name = ["loss", "avg_loss", "train_loss", "val_loss"].find((each) => each in means) ?? Object.keys(means).find((each) => each.includes("loss"));
    return {
      round: view.round + 1,
      loss: name === undefined ? null : (means[name] ?? null),
      accepted: view.accepted.length,
      refused: Object.entries(view.refused),
      samples: Object.entries(view.samples).reduce((sum, [site, each]) => (site === "server" ? sum : sum + each), 0),
      seconds: view.seconds ?? null,
    };
  });
}

/** The round with the lowest loss; null when none has one. */
export function bestRound(rows: readonly RoundRow[]): number | null {
  const known = rows.filter((row): row is RoundRow & { loss: number } => row.loss !== null);
  return known.length ? known.reduce((best, row) => (row.loss < best.loss ? row : best)).round : null;
}
