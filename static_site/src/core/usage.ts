/** What a bucket holds, summed from the stretches the API counts it in. */

export interface FolderUsage {
  readonly workspace: string;
  readonly folder: string;
  readonly objects: number;
  readonly bytes: number;
}

export interface WorkspaceUsage {
  readonly workspace: string;
  readonly objects: number;
  readonly bytes: number;
  /** Its folders, the largest first. */
  readonly folders: readonly FolderUsage[];
}

/** By workspace, the largest first; a folder that was counted in two stretches is one. */
export function byWorkspace(rows: readonly FolderUsage[]): readonly WorkspaceUsage[] {
  const folders = new Map<string, FolderUsage>();
  for (const row of rows) {
    const key = `${row.workspace}/${row.folder}`;
    const before = folders.get(key);
    folders.set(key, before ? { ...row, objects: row.objects + before.objects, bytes: row.bytes + before.bytes } : row);
  }
  const workspaces = new Map<string, FolderUsage[]>();
  for (const row of folders.values()) workspaces.set(row.workspace, [...(workspaces.get(row.workspace) ?? []), row]);
  const summed = Array.from(workspaces, ([workspace, of]) => ({ workspace, objects: sum(of, "objects"), bytes: sum(of, "bytes"), folders: of.sort((a, b) => b.bytes - a.bytes) }));
  return summed.sort((a, b) => b.bytes - a.bytes);
}

/** Bytes of all of them. */
export function totalBytes(workspaces: readonly WorkspaceUsage[]): number {
  return sum(workspaces, "bytes");
}

function sum<K extends string>(rows: readonly Readonly<Record<K, number>>[], of: K): number {
  return rows.reduce((all, row) => all + row[of], 0);
}
