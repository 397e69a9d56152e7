// What projects, roles and templates have in common: they are made, changed and removed.

import * as api from "./api.js";
import { form } from "./forms.js";
import { dangerous, say } from "./notes.js";
import { go } from "./router.js";

/** `noun` as in `{ word: "role", path: "/v1/roles", page: "/roles" }`. */
export function maker(noun, fields) {
  return form({
    fields,
    submit: `Make the ${noun.word}`,
    send: (body) => api.create(noun.path, body),
    done(made) {
      say(`The ${noun.word} is made.`);
      go(`${noun.page}/${made.id}`);
    },
  });
}

export function editor(noun, one, fields, again) {
  const send = (body) => api.replace(`${noun.path}/${one.id}`, body, one.version);
  const done = () => {
    say("Saved.");
    return again();
  };
  return form({ fields, submit: "Save", send, done });
}

export function remover(noun, one, text) {
  return dangerous("Remove", `Remove this ${noun.word}?`, text, () => api.remove(`${noun.path}/${one.id}`, one.version), () => go(noun.page));
}
