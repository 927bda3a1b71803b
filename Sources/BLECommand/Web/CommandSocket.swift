#if Web
    import BLE
    import FlyingFox
    import FoundationEssentials
    import Synchronization

    /// A WebSocket on which a page runs one command: the request comes in, and the lines of the command's output go
    /// out.
    ///
    /// The end of either ends the other. A page that does not read in time loses the oldest lines, and is told how
    /// many.
    struct CommandSocket: WSHandler {
        /// The maximum number of lines that wait for a page.
        static let capacity = 2048
        /// How long a page may take to send its request.
        private static let patience = Duration.seconds(10)

        /// Runs a command for a request, and returns its exit status.
        let run: @Sendable (_ request: [UInt8], _ output: Output) async -> Int32

        func makeFrames(for client: AsyncThrowingStream<WSFrame, any Error>) async throws -> AsyncStream<WSFrame> {
            let (frames, continuation) = AsyncStream.makeStream(
                of: WSFrame.self, bufferingPolicy: .bufferingNewest(Self.capacity))
            let sender = Sender(continuation)
            let task = Task {
                await converse(client, sender)
                // The server closes the socket now, when nothing reads it any more.
                sender.end()
            }
            continuation.onTermination = { _ in task.cancel() }
            return frames
        }

        /// Returns when the command has ended, or the page, or its patience.
        private func converse(_ client: AsyncThrowingStream<WSFrame, any Error>, _ sender: Sender) async {
            let (requests, request) = AsyncStream.makeStream(of: [UInt8].self, bufferingPolicy: .bufferingOldest(1))
            await withTaskGroup(of: Bool.self) { group in
                group.addTask {
                    // An error of the client's frames is its end.
                    try? await take(client, sender, request)
                    return true
                }
                group.addTask {
                    for await request in requests {
                        let status = await self.run(request, Output(to: sender.send))
                        sender.send(JSON.object(["event": "ended", "status": .int(Int(status))]).text)
                        break
                    }
                    return true
                }
                group.addTask {
                    try? await ContinuousClock().sleep(for: Self.patience)
                    return sender.start()
                }
                for await isEnd in group where isEnd { break }
                group.cancelAll()
            }
        }

        /// Reads what a page sends, until its end.
        private func take(
            _ client: AsyncThrowingStream<WSFrame, any Error>, _ sender: Sender,
            _ request: AsyncStream<[UInt8]>.Continuation
        ) async throws {
            for try await frame in client {
                switch frame.opcode {
                case .text, .binary:
                    guard frame.fin, sender.start() else { return }
                    request.yield(Array(frame.payload))
                case .ping: sender.answer(frame)
                case .pong: break
                default: return
                }
            }
        }

        /// Sends lines, and counts those that are lost.
        private final class Sender: Sendable {
            private struct State {
                var hasStarted = false
                var lost = 0
                /// The number of lost lines that the page knows of.
                var told = 0
            }

            private let frames: AsyncStream<WSFrame>.Continuation
            private let state = Mutex(State())

            init(_ frames: AsyncStream<WSFrame>.Continuation) { self.frames = frames }

            /// Returns whether this is the first request, or the end of the wait for it.
            func start() -> Bool {
                state.withLock { state in
                    defer { state.hasStarted = true }
                    return !state.hasStarted
                }
            }

            @Sendable func send(_ line: String) {
                state.withLock { state in
                    switch frames.yield(frame(line)) {
                    case .dropped: state.lost += 1
                    // With less room, the line about lost lines would be one of them.
                    case .enqueued(let room) where room > 0 && state.lost > state.told:
                        state.told = state.lost
                        frames.yield(frame(JSON.object(["event": "dropped", "count": .int(state.lost)]).text))
                    default: break
                    }
                }
            }

            private func frame(_ line: String) -> WSFrame {
                WSFrame(fin: true, opcode: .text, mask: nil, payload: Data(line.utf8))
            }

            func answer(_ ping: WSFrame) {
                frames.yield(WSFrame(fin: true, opcode: .pong, mask: nil, payload: ping.payload))
            }

            func end() {
                frames.yield(.close())
                frames.finish()
            }
        }
    }
#endif
