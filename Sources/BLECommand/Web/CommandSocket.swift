import BLEDefinitions

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
                // The server closes the socket now. Unless a write has failed, nothing reads it any more.
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
                    do {
                        try await take(client, sender, request)
                    } catch let error as BLEError {
                        Output(to: sender.send).complain(error)
                        sender.end(ExitStatus.status(of: error.code))
                    } catch {
                        // An error of the client's frames is its end.
                    }
                    return true
                }
                group.addTask {
                    for await request in requests {
                        sender.end(await self.run(request, Output(to: sender.send)))
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

        /// The longest control frame (RFC 6455, section 5.5), in bytes.
        private static let longestControl = 125

        /// Reads what a page sends, until its end. Throws `invalidArgument` for what a page does not send.
        private func take(
            _ client: AsyncThrowingStream<WSFrame, any Error>, _ sender: Sender,
            _ request: AsyncStream<[UInt8]>.Continuation
        ) async throws {
            for try await frame in client {
                let isControl = [.ping, .pong, .close].contains(frame.opcode)
                guard frame.fin, !isControl || frame.payload.count <= Self.longestControl else {
                    throw BLEError(.invalidArgument, "a message in parts, or a long control frame", isRetryable: false)
                }
                switch frame.opcode {
                case .text, .binary:
                    guard sender.start() else {
                        throw BLEError(.invalidArgument, "a socket has one request", isRetryable: false)
                    }
                    request.yield(Array(frame.payload))
                case .ping: sender.answer(frame)
                case .pong: break
                case .close: return
                default: throw BLEError(.invalidArgument, "an unknown kind of frame", isRetryable: false)
                }
            }
        }

        /// Sends lines, and counts those that are lost.
        private final class Sender: Sendable {
            private struct State {
                var hasStarted = false
                var hasEnded = false
                var lost = 0
                /// The number of lost lines that the page knows of.
                var told = 0
                /// The number of frames for which there is room.
                var room = CommandSocket.capacity
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
                    guard !state.hasEnded else { return }
                    yield(line, &state)
                    // With less room, the line about lost lines would be one of them.
                    if state.room > 0 { tellLost(&state) }
                }
            }

            private func yield(_ line: String, _ state: inout State) {
                let frame = WSFrame(fin: true, opcode: .text, mask: nil, payload: Data(line.utf8))
                switch frames.yield(frame) {
                case .dropped: (state.lost, state.room) = (state.lost + 1, 0)
                case .enqueued(let room): state.room = room
                default: break
                }
            }

            /// - Parameter further: the number of lines that will be lost by what follows.
            private func tellLost(_ state: inout State, further: Int = 0) {
                guard state.lost > state.told else { return }
                state.told = state.lost + further
                yield(JSON.object(["event": "dropped", "count": .int(state.told)]).text, &state)
            }

            /// Answers a ping, unless the page does not read.
            func answer(_ ping: WSFrame) {
                state.withLock { state in
                    guard state.room > CommandSocket.capacity / 2 else { return }
                    let pong = WSFrame(fin: true, opcode: .pong, mask: nil, payload: ping.payload)
                    if case .enqueued(let room) = frames.yield(pong) { state.room = room }
                }
            }

            /// Tells how the command has ended, unless that was told.
            func end(_ status: Int32) {
                state.withLock { state in
                    guard !state.hasEnded else { return }
                    state.hasEnded = true
                    // Without room, this line, the last one and the close take the places of others.
                    tellLost(&state, further: max(0, 3 - state.room))
                    yield(JSON.object(["event": "ended", "status": .int(Int(status))]).text, &state)
                }
            }

            func end() {
                frames.yield(.close())
                frames.finish()
            }
        }
    }
#endif
