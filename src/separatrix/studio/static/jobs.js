// Commands that run: started, followed, stopped and gone on with.

import { attempt, get, inProject, make, outline, post, say } from "./api.js";
import { app, showSame } from "./app.js";

const NAMES = {
  running: "running", done: "done", failed: "ended with an error", stopped: "stopped",
  interrupted: "was interrupted",
};

export async function startJob(command, args, options) {
  const job = await post(inProject(app.project.name, "/jobs"), { command, arguments: args, options });
  app.project.jobs.unshift(job);
  showSame(job);
  return job;
}

export const lastJob = (command, accept = () => true) =>
  app.project.jobs.find((job) => job.command === command && accept(job));

// Show a job in a node until it ends; `progress` sees each event, `ended` the whole job once.
export function followJob(node, job, { progress = () => {}, ended = () => {}, result = null } = {}) {
  const path = inProject(app.project.name, `/jobs/${job.number}`);
  const status = make("b", {});
  const messages = make("pre", { class: "messages" });
  const shown = make("div", {});
  const stop = make("button", { type: "button", onclick: () => change("stop") }, "Stop");
  const resume = make("button", { type: "button", onclick: () => change("resume") }, "Go on");
  node.replaceChildren(
    make("p", { class: "status" }, make("code", {}, job.command), " ", status, " ", stop, resume),
    shown, messages);
  let events = null;

  function change(wish) {
    attempt(node, async () => {
      await post(`${path}/${wish}`);
      if (wish === "resume") listen();
    });
  }
  function mark(state) {
    status.textContent = NAMES[state] || state;
    stop.hidden = state !== "running";
    resume.hidden = !["stopped", "interrupted", "failed"].includes(state);
  }
  async function finish() {
    const whole = await get(path);
    mark(whole.status);
    Object.assign(job, whole);
    messages.textContent = whole.messages;
    messages.hidden = !whole.messages.trim();
    if (whole.status === "done") shown.replaceChildren(result ? result(whole.result) : outline(whole.result));
    say(`The command ${job.command} ${NAMES[whole.status]}.`);
    ended(whole);
  }
  function listen() {
    if (events) events.close();
    mark("running");
    events = new EventSource(`${path}/events`);
    app.following.push(events);
    events.addEventListener("message", (event) => {
      const news = JSON.parse(event.data);
      messages.textContent = news.messages || "";
      messages.hidden = !messages.textContent.trim();
      progress(news);
      if (news.status !== "running") {
        events.close();
        attempt(node, finish);
      }
    });
  }
  listen();
}
