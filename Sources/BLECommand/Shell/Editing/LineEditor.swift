#if LineEditing
    import BLE
    import CEdit
    import Dispatch
    import Synchronization
    internal import Waiting

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// Reads lines that the user edits, with libedit.
    ///
    /// libedit waits for keys on a thread of its own. It changes the terminal only while a line is read, also if the
    /// task is cancelled: the prompt then ends like at the end of the input.
    final class LineEditor: LineReader {
        /// The prompt, while there is one. Shared with the thread that reads.
        private struct State {
            var prompt = ""
            /// Messages to show above the prompt.
            var messages: [String] = []
            var isCancelled = false
        }

        private let state = Mutex(State())
        private let session: Mutex<EditorSession>
        /// Becomes readable when the thread has something else to do than to wait for keys.
        private let wakeUp: Int32
        private let thread = DispatchQueue(label: "ble.line-editor")

        /// Nil if the terminal cannot be edited on.
        init?(_ history: ShellHistory) {
            // libedit measures characters with the locale of C.
            if setlocale(LC_CTYPE, "") == nil || String(cString: nl_langinfo(Int32(CODESET))) != "UTF-8" {
                setlocale(LC_CTYPE, "C.UTF-8")
            }
            let wakeUp = ble_wake_new()
            guard wakeUp >= 0, let session = EditorSession(history) else { return nil }
            self.wakeUp = wakeUp
            self.session = Mutex(session)
        }

        deinit { close(wakeUp) }

        func next(_ prompt: String, completing vocabulary: ShellVocabulary) async -> ReadLine {
            state.withLock { state in
                // Messages that arrived before are shown now.
                (state.prompt, state.isCancelled) = (prompt, false)
            }
            let outcome = Outcome<ReadLine>()
            thread.async {
                let read = self.session.withLock { session in
                    session.read(EditedLine(self, vocabulary))
                }
                outcome.deliver(.success(read))
            }
            return await withTaskCancellationHandler {
                // The thread delivers, also after a cancellation, when it has restored the terminal.
                await Task { (try? await outcome.wait()) ?? .end }.value
            } onCancel: {
                state.withLock { $0.isCancelled = true }
                wake()
            }
        }

        func announce(_ message: String, prompt: String) {
            state.withLock { state in
                state.messages.append(message)
                state.prompt = prompt
            }
            wake()
        }

        private func wake() { ble_wake(wakeUp) }

        // MARK: On the thread

        /// The current prompt.
        var prompt: String { state.withLock(\.prompt) }
        var isCancelled: Bool { state.withLock(\.isCancelled) }

        /// Waits for a byte. Nil at the end, or after a cancellation.
        ///
        /// - Parameter announce: called with the messages that arrive meanwhile.
        func nextByte(announce: ([String]) -> Void) -> UInt8? {
            while !isCancelled {
                var files = [
                    pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: wakeUp, events: Int16(POLLIN), revents: 0),
                ]
                guard poll(&files, 2, -1) > 0 else { continue }
                if files[1].revents != 0 {
                    ble_wake_clear(wakeUp)
                    let messages = state.withLock { state in
                        defer { state.messages = [] }
                        return state.messages
                    }
                    if !messages.isEmpty { announce(messages) }
                } else if files[0].revents != 0 {
                    var byte: UInt8 = 0
                    let length = Glibc.read(STDIN_FILENO, &byte, 1)
                    if length < 0, errno == EINTR || errno == EAGAIN { continue }
                    return length == 1 ? byte : nil
                }
            }
            return nil
        }
    }
#endif
