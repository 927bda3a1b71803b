#if LineEditing
    import BLE
    import CEdit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// libedit, with the keys and the history of the shell.
    struct EditorSession: ~Copyable {
        private let edit: OpaquePointer
        private let past: OpaquePointer
        private var history: ShellHistory

        /// The functions that keys are bound to.
        private static let keys = [
            ("^I", "ble-complete"), ("^Z", "ble-suspend"), ("^R", "em-inc-search-prev"),
            ("^W", "ed-delete-prev-word"), ("\\e[1;5D", "ed-prev-word"), ("\\e[1;5C", "em-next-word"),
            ("\\e[3~", "ed-delete-next-char"),
        ]

        init?(_ history: ShellHistory) {
            guard let edit = ble_edit_new() else { return nil }
            guard let past = history_winit() else {
                el_end(edit)
                return nil
            }
            (self.edit, self.past, self.history) = (edit, past, history)
            ble_edit_use_emacs(edit)
            ble_history_limit(past, Int32(ShellHistory.limit))
            for line in history.lines { Self.add(line, to: past) }
            ble_edit_set_history(edit, past)
            ble_edit_set_prompt(edit) { edit in EditedLine.of(edit)?.promptText() }
            ble_edit_set_reader(edit) { edit, scalar in
                guard let edit, let next = EditedLine.of(edit)?.nextScalar(edit) else { return 0 }
                scalar?.pointee = wchar_t(next.value)
                return 1
            }
            Self.addFunctions(to: edit)
            // The keys that the user likes: ~/.editrc.
            el_source(edit, nil)
            ble_edit_take_signal_keys(edit)
            for (key, name) in Self.keys {
                ble_edit_bind(edit, key.wide, name.wide)
            }
        }

        deinit {
            el_end(edit)
            history_wend(past)
        }

        private static func addFunctions(to edit: OpaquePointer) {
            ble_edit_add(edit, "ble-complete".wide) { edit, _ in
                guard let edit, EditedLine.of(edit)?.complete(edit) == true else { return UInt8(CC_ERROR) }
                return UInt8(CC_REFRESH)
            }
            ble_edit_add(edit, "ble-suspend".wide) { edit, _ in
                ble_edit_prepare(edit, 0)
                EditorSession.suspend()
                ble_edit_prepare(edit, 1)
                return UInt8(CC_REDISPLAY)
            }
        }

        /// Stops the process group, as the terminal does, until it is continued.
        ///
        /// The signal for a group is delivered to any thread of this process, which would let this one go on with the
        /// terminal meanwhile. So it is for the others only, and this thread stops the process itself.
        private static func suspend() {
            let before = signal(SIGTSTP, SIG_IGN)
            kill(0, SIGTSTP)
            signal(SIGTSTP, before)
            raise(SIGTSTP)
            // Threads of Dispatch block signals. This one is delivered here.
            var (stop, blocked) = (sigset_t(), sigset_t())
            sigemptyset(&stop)
            sigaddset(&stop, SIGTSTP)
            pthread_sigmask(SIG_UNBLOCK, &stop, &blocked)
            pthread_sigmask(SIG_SETMASK, &blocked, nil)
        }

        /// Reads a line.
        mutating func read(_ line: EditedLine) -> ReadLine {
            withExtendedLifetime(line) {
                ble_edit_set_data(edit, Unmanaged.passUnretained(line).toOpaque())
                defer { ble_edit_set_data(edit, nil) }
                // libedit draws the prompt first: of the keys that are typed then, the terminal would take Ctrl-C, and
                // Ctrl-D would be lost.
                ble_edit_prepare(edit, 1)
                el_resize(edit)
                var count: Int32 = 0
                let scalars = el_wgets(edit, &count)
                guard let scalars, count > 0 else {
                    // The terminal shows no keys while a line is edited.
                    Progress.write(line.isCancelled ? "^C\n" : "\n")
                    return .end
                }
                let text = String(wide: UnsafeBufferPointer(start: scalars, count: Int(count)))
                let entered = text.hasSuffix("\n") ? String(text.dropLast()) : text
                if history.add(entered) { Self.add(entered, to: past) }
                return .line(entered)
            }
        }

        private static func add(_ line: String, to history: OpaquePointer) {
            ble_history_add(history, line.wide)
        }

    }
#endif
