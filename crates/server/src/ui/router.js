// Addresses behind the `#`: each view has one, so that it can be linked to and the back button works. A view gets its
// parameters and a signal that ends when it is left.

const routes = [];
let leaving = null;
let shown = null;

/** `/tasks/:id` and so on; the first that matches is taken. */
export function route(pattern, view) {
  const names = [...pattern.matchAll(/:(\w+)/g)].map(([, name]) => name);
  routes.push({ expression: new RegExp(`^${pattern.replace(/:\w+/g, "([^/]+)")}$`), names, view });
}

export function current() {
  const [path, query] = location.hash.replace(/^#/, "").split("?");
  return { path: path || "/", query: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

export function go(path) {
  location.hash = path;
}

/** Changes the query of this address without a new step in the history. */
export function remember(query) {
  const { path, query: old } = current();
  const pairs = Object.entries({ ...old, ...query }).filter(([, value]) => value !== null && value !== undefined && value !== "");
  history.replaceState(null, "", `#${path}${pairs.length ? `?${new URLSearchParams(pairs)}` : ""}`);
  shown = location.hash;
}

/** Shows what the address names, by `render(view, params, query, signal)`. */
export function start(render) {
  const show = () => {
    // A link within the page, as the one to its content, is no other view.
    if (!location.hash.startsWith("#/") && location.hash !== "" && shown !== null) return;
    shown = location.hash;
    leaving?.abort();
    leaving = new AbortController();
    const { path, query } = current();
    for (const { expression, names, view } of routes) {
      const found = expression.exec(path);
      if (!found) continue;
      let values;
      try {
        values = found.slice(1).map(decodeURIComponent);
      } catch {
        break;
      }
      const params = Object.fromEntries(names.map((name, index) => [name, values[index]]));
      return render(view, { ...params, query }, leaving.signal);
    }
    render(null, {}, leaving.signal);
  };
  addEventListener("hashchange", () => location.hash !== shown && show());
  show();
  return { again: show, stop: () => leaving?.abort() };
}
