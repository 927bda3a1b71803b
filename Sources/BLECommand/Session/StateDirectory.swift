/// The directory for what the tool keeps for a user between its runs.
enum StateDirectory {
    /// Returns `$XDG_STATE_HOME/ble`, or `~/.local/state/ble`. Nil if the environment names no directory for it.
    static func path(_ environment: [String: String]) -> String? {
        func folder(_ name: String) -> String? {
            // A relative path is ignored: XDG Base Directory Specification 0.8.
            environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        let state = folder("XDG_STATE_HOME") ?? folder("HOME").map { $0 + "/.local/state" }
        return state.map { $0 + "/ble" }
    }
}
