/* The page of the API: Swagger UI with what /openapi.json says, and the key of this tab. */

import { KEY, getJson, hooks } from "./api.js";
import { tab } from "./keeping.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
const light = () => document.documentElement.classList.toggle("dark-mode", dark.matches);

hooks.askKey = async () => prompt("This service wants a key");

async function show() {
  const spec = await getJson("openapi.json");
  spec.info.description += "\n\n## Routes"; // a heading between the title and those of the groups
  window.SwaggerUIBundle({
    spec,
    dom_id: "#api",
    docExpansion: "list",
    defaultModelsExpandDepth: -1, // each route shows its own
    validatorUrl: null, // of another host
    requestInterceptor: (request) => {
      const key = tab.get(KEY);
      if (key) request.headers.Authorization = `Bearer ${key}`;
      return request;
    },
  });
}

light();
dark.addEventListener("change", light);
show().catch((error) => (document.getElementById("api").textContent = error.message));
