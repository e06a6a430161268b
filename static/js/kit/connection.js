/**
 * A socket that reconnects automatically.
 *
 * @typedef {import("./outbox.js").Frame} Frame
 * @typedef {"connecting" | "open" | "waiting" | "refused" | "ended"} ConnectionState
 */

import { StudyStatus } from "./study_status.js";

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 2000; // reconnects within seconds of a restart
const SILENCE_MS = 8000; // a frame without an answer for this long means a dead connection
const PING_MS = 20_000; // a worker who only waits for a reply would never notice a dead connection
const HANDSHAKE_MS = 20_000;
const MOVED = 1012; // the server is being replaced, and another one is there
const REFUSED_FROM = 4400;
const SENT_WHILE_HELD = ["ping", "here", "typing"];

export class Connection {
  /**
   * @param {string} path
   * @param {{onFrame: (frame: Frame) => void, onState: (state: ConnectionState) => void}} listener
   */
  constructor(path, listener) {
    this.url = new URL(path, location.href.replace(/^http/, "ws"));
    this.url.searchParams.set("language", document.documentElement.lang); // in which the server speaks to this page
    this.listener = listener;
    this.wait = FIRST_WAIT_MS;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.watchdog = undefined;
    /** @type {ConnectionState} */
    this.state = "connecting";
    this.status = new StudyStatus((of) => this.send({ type: "more_time", of }));
    setInterval(() => this.send({ type: "ping" }), PING_MS);
    addEventListener("online", () => this.hurry());
    addEventListener("offline", () => this.abandon());
    addEventListener("pageshow", () => this.hurry());
    addEventListener("pagehide", () => this.leave("waiting"));
    document.addEventListener("visibilitychange", () => !document.hidden && this.hurry());
    this.connect();
  }

  connect() {
    this.become(this.state === "waiting" ? "waiting" : "connecting");
    const socket = new WebSocket(this.url);
    this.socket = socket;
    this.watchdog = setTimeout(() => this.abandon(), HANDSHAKE_MS);
    socket.addEventListener("message", (event) => this.onMessage(socket, event));
    socket.addEventListener("close", (event) => this.onClose(socket, event.code));
  }

  /**
   * Send a frame if the connection is open and the study is not on hold. The outbox resends important frames after `state`.
   *
   * @param {Frame} frame
   */
  send(frame) {
    if (this.state !== "open" || this.socket?.readyState !== WebSocket.OPEN) return false;
    if (this.status.isHeld && !SENT_WHILE_HELD.includes(frame.type)) return false;
    this.socket.send(JSON.stringify(frame));
    this.watchdog ??= setTimeout(() => this.abandon(), SILENCE_MS);
    return true;
  }

  /**
   * @param {WebSocket} socket
   * @param {MessageEvent} event
   */
  onMessage(socket, event) {
    if (socket !== this.socket) return;
    clearTimeout(this.watchdog);
    this.watchdog = undefined;
    const frame = JSON.parse(event.data);
    if (frame.type === "pong") return;
    if (frame.type === "standing") return this.status.show(frame);
    if (frame.type === "state") {
      this.wait = FIRST_WAIT_MS;
      this.become("open");
    }
    this.listener.onFrame(frame);
  }

  /**
   * @param {WebSocket} socket
   * @param {number} code
   */
  onClose(socket, code) {
    if (socket !== this.socket) return;
    clearTimeout(this.watchdog);
    this.watchdog = undefined;
    this.socket = undefined;
    if (code >= REFUSED_FROM) return this.become("refused");
    if (code === MOVED && this.state === "open") return this.connect();
    this.become("waiting");
    this.timer = setTimeout(() => this.connect(), this.wait * (0.75 + Math.random() / 2));
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT_MS);
  }

  /** Give up the socket: a dead connection may take minutes to close by itself. */
  abandon() {
    const socket = this.socket;
    if (!socket) return;
    this.onClose(socket, 1006);
    socket.close();
  }

  /**
   * Close the socket when the page is left; further frames are ignored. In the state "waiting" it reconnects
   * if the page is shown again.
   *
   * @param {"waiting" | "ended"} state
   */
  leave(state) {
    const socket = this.socket;
    clearTimeout(this.timer);
    clearTimeout(this.watchdog);
    this.socket = undefined;
    if (this.state !== "ended") this.state = state;
    socket?.close();
  }

  /** Reconnect at once: the network or the reader is back. */
  hurry() {
    if (this.state !== "waiting" || this.socket) return;
    clearTimeout(this.timer);
    this.connect();
  }

  /** @param {ConnectionState} state */
  become(state) {
    this.state = state;
    this.listener.onState(state);
  }
}
