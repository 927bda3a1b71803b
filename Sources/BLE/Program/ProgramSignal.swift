#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A signal that asks a program to end.
public enum ProgramSignal: Hashable, Sendable, CaseIterable {
    /// SIGINT, which Ctrl-C sends.
    case interrupt
    /// SIGTERM, which `kill` and a service manager send.
    case terminate
    /// SIGHUP, which the end of a terminal sends.
    case hangUp

    /// The system's number.
    public var number: Int32 {
        switch self {
        case .interrupt: SIGINT
        case .terminate: SIGTERM
        case .hangUp: SIGHUP
        }
    }

    init?(number: Int32) {
        guard let signal = Self.allCases.first(where: { $0.number == number }) else { return nil }
        self = signal
    }
}
