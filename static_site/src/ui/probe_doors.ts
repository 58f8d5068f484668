/** The upload test of the profile page, over the API and this browser. */

import type { Api, Shapes } from "../core/api";
import type { ProbeDoors } from "../core/bucket_probe";

export function probeDoors(api: Api): ProbeDoors {
  return {
    begin: async (key) => {
      const { id } = await api.post<Shapes["Upload"]>("/uploads", { key, size: 1, content_type: "text/plain" });
      const { urls } = await api.post<Shapes["PartUrls"]>(`/uploads/${id}/sign`, { numbers: [1] });
      return { id, url: urls[0]?.url ?? "" };
    },
    put: (url) => fetch(url, { method: "PUT", body: new Blob(["x"]) }),
    read: async (url) => void (await fetch(url)),
    reach: async (url) => void (await fetch(url, { mode: "no-cors" })),
    drop: (id) => api.call<void>("DELETE", `/uploads/${id}`),
  };
}
