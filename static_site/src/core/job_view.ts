/** A job as its page shows it, folded from the live feed. */

import type { Shapes } from "./api";

export type JobView = Shapes["JobView"];
export type Worker = Shapes["WorkerView"];
export type Live = Shapes["LiveView"];

export interface Picture {
  readonly job: JobView | null;
  readonly workers: readonly Worker[];
  /** Warnings so far, the newest last. */
  readonly warnings: readonly string[];
  /** Grows with each round that ended, so that the table is asked for again. */
  readonly roundsEnded: number;
  /** Grows with each log segment that was stored. */
  readonly segments: number;
}

export const EMPTY: Picture = { job: null, workers: [], warnings: [], roundsEnded: 0, segments: 0 };

/** The picture after one more answer. */
export function painted(before: Picture, answer: Live): Picture {
  const fresh = answer.workers ?? [];
  const known = before.workers.filter(({ site }) => !fresh.some((worker) => worker.site === site));
  const changes = (answer.feed ?? []).map(({ change }) => change);
  return {
    job: answer.job ?? before.job,
    workers: [...known, ...fresh].sort((a, b) => siteOrder(a.site) - siteOrder(b.site)),
    warnings: [...before.warnings, ...changes.flatMap((change) => (change.kind === "warning" ? [change.sentence] : []))],
    roundsEnded: before.roundsEnded + changes.filter(({ kind }) => kind === "round_ended").length,
    segments: before.segments + changes.filter(({ kind }) => kind === "log").length,
  };
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
      samples: Object.values(view.samples).reduce((sum, each) => sum + each, 0),
      seconds: view.seconds ?? null,
    };
  });
}

/** The round with the lowest loss; null when none has one. */
export function bestRound(rows: readonly RoundRow[]): number | null {
  const known = rows.filter((row): row is RoundRow & { loss: number } => row.loss !== null);
  return known.length ? known.reduce((best, row) => (row.loss < best.loss ? row : best)).round : null;
}
