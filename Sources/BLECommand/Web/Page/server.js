// The connection to the server: the token, commands over WebSockets, and requests.

import { Log, isRecord, retryDelay, text, tokenIn } from "./model.js";

export const log = new Log();
export const server = { about: {}, token: null };

// MARK: Token

/** Takes the token out of the address bar, and keeps it for reloads of this tab. */
export function adoptToken() {
  const token = tokenIn(location.hash);
  try {
    if (token) sessionStorage.setItem("token", token);
    server.token = token ?? sessionStorage.getItem("token");
  } catch {
    // Without storage, the token lasts until a reload.
    server.token = token ?? server.token;
  }
  if (token) history.replaceState(null, "", `${location.pathname}#/`);
}

/** Returns why commands that change a peripheral are not possible, or null. */
export function whyReadOnly() {
  if (!server.about.allowsWriting) return "This server allows reading only.";
  if (!server.token) return "Requires the token: open the address that the server printed when it started.";
  return null;
}

// MARK: Health

const health = { heardAt: Date.now(), isFailing: false };

function heard() {
  health.heardAt = Date.now();
  health.isFailing = false;
}

/** Returns the text of the banner, or null while the server answers. */
export function connectionProblem() {
  if (!health.isFailing) return null;
  const since = new Date(health.heardAt).toLocaleTimeString("en", { hourCycle: "h23" });
  return `The server does not answer. Nothing received since ${since}. Trying again.`;
}

const shortText = (text) => text.trim().slice(0, 200);

/** Returns what is at a path. Throws an error with a text for people. */
async function request(path, headers = {}, period = 8000) {
  let response;
  try {
    response = await fetch(path, { cache: "no-store", headers, signal: AbortSignal.timeout(period) });
  } catch {
    health.isFailing = true;
    throw new Error("The server does not answer.");
  }
  heard();
  if (!response.ok) {
    const reason = shortText(await response.text().catch(() => ""));
    throw new Error(`The server refused the request (${response.status}${reason && `: ${reason}`}).`);
  }
  return response;
}

export const fetchJSON = async (path) => (await request(path)).json();

/** Returns the recording, which takes its time to convert. */
export const fetchRecording = async () =>
  (await request("recording.btsnoop", { Authorization: `Bearer ${server.token}` }, 120_000)).blob();

export async function refreshAbout() {
  const about = await fetchJSON("about");
  if (isRecord(about)) server.about = about;
}

// MARK: Commands

export function errorText(error) {
  const message = text(error?.message) || text(error?.code) || "The command failed.";
  const sentence = message[0].toUpperCase() + message.slice(1) + (/[.!?]$/.test(message) ? "" : ".");
  return [sentence, text(error?.remedy)].filter((part) => part).join(" ");
}

/** A command of `ble` that runs on the server, over a socket of its own. */
export class Command {
  #socket;
  #error = null;
  #hasEnded = false;
  #onEnd;

  /**
   * - onLine: called with each line, of data, notes and errors.
   * - onEnd: called once with {status, error} unless `close` was called; the status is null if the connection failed.
   */
  constructor(words, { onLine = () => {}, onEnd = () => {} } = {}) {
    this.name = words.join(" ");
    this.#onEnd = onEnd;
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.#socket = new WebSocket(`${scheme}://${location.host}/command`);
    this.#socket.onopen = () => this.#send(words);
    this.#socket.onmessage = ({ data }) => this.#receive(data, onLine);
    this.#socket.onclose = () => this.#fail();
  }

  /** Ends the command, and with it a link that no other command uses. */
  close() {
    this.#hasEnded = true;
    this.#socket.close();
  }

  #send(words) {
    heard();
    // The log is for export, so the token is not in it.
    log.add(this.name, { event: "sent", arguments: words }, Date.now());
    this.#socket.send(JSON.stringify(server.token ? { arguments: words, token: server.token } : { arguments: words }));
  }

  #receive(data, onLine) {
    if (this.#hasEnded) return;
    heard();
    let line = null;
    try {
      line = JSON.parse(data);
    } catch {
      // Shown in the log as it is.
    }
    if (!isRecord(line)) line = { note: String(data) };
    log.add(this.name, line, Date.now());
    if (isRecord(line.error)) this.#error = line.error;
    if (line.event === "ended") this.#end(line.status === 0 ? 0 : line.status ?? 1);
    else onLine(line);
  }

  #fail() {
    if (this.#hasEnded) return;
    health.isFailing = true;
    this.#error ??= { message: "The connection to the server was lost." };
    this.#end(null);
  }

  #end(status) {
    this.#hasEnded = true;
    this.#socket.close();
    this.#onEnd({ status, error: status === 0 ? null : this.#error ?? { message: `The command ended (${status}).` } });
  }
}

/** Whether a line is data, not an error, a note or an event of the socket. */
function isData(line) {
  return !isRecord(line.error) && !("note" in line) && !("prompt" in line) && line.event !== "dropped";
}

/** Runs a command to its end, and returns its lines of data. Notes and prompts go to `onTold`. */
export function run(words, onTold = () => {}) {
  return new Promise((resolve, reject) => {
    const lines = [];
    new Command(words, {
      onLine: (line) => {
        const told = text(line.prompt) || text(line.note);
        if (told) onTold(told);
        else if (isData(line) && lines.length < 1000) lines.push(line);
      },
      onEnd: ({ error }) => (error ? reject(new Error(errorText(error))) : resolve(lines)),
    });
  });
}

/** The scan, which begins again when it has ended, until it is paused. */
export class Scan {
  #command = null;
  #timer = null;
  #attempt = 0;
  #onLine;
  isPaused = true;
  problem = null;
  dropped = 0;

  constructor(onLine) {
    this.#onLine = onLine;
  }

  start() {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.#open();
  }

  pause() {
    this.isPaused = true;
    this.problem = null;
    clearTimeout(this.#timer);
    this.#command?.close();
    this.#command = null;
  }

  #open() {
    this.#command = new Command(["scan", "--duplicates"], {
      onLine: (line) => this.#receive(line),
      onEnd: ({ error }) => this.#retry(error),
    });
  }

  #receive(line) {
    if (line.event === "dropped" && Number.isInteger(line.count)) this.dropped = line.count;
    if (!isData(line)) return;
    [this.#attempt, this.problem] = [0, null];
    this.#onLine(line);
  }

  #retry(error) {
    const delay = retryDelay(this.#attempt++);
    this.problem = error ? `${errorText(error)} Scanning again in ${delay} s.` : null;
    this.#timer = setTimeout(() => this.#open(), delay * 1000);
  }
}
