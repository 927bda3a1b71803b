import Subprocess

/// The calls of `org.bluez.Adapter1` that programs make, as dbus-monitor shows them.
public final class AdapterCalls {
    /// A call. The options of a discovery filter are texts, in which arrays are separated by spaces.
    public struct Call: Equatable, Sendable {
        public let method: String
        public let options: [String: String]
        /// The number of the caller, from 0, in the order of their first calls.
        public let caller: Int

        public init(_ method: String, _ options: [String: String] = [:], by caller: Int = 0) {
            (self.method, self.options, self.caller) = (method, options, caller)
        }
    }

    private let output: ProgramOutput
    private var callers: [Substring] = []
    private var count = 0

    private init(_ output: ProgramOutput) { self.output = output }

    /// Runs `body` while the calls on a bus are monitored.
    ///
    /// - Parameter bus: the bus's address; nil for the system's.
    public static func monitored(bus: String?, _ body: (AdapterCalls) async throws -> Void) async throws {
        let place = bus.map { ["--address", $0] } ?? ["--system"]
        let program = TestProgram("dbus-monitor", place + ["type='method_call',interface='org.bluez.Adapter1'"])
        try await program.run { running in
            // The bus takes the monitor's name away when it begins.
            try await running.output.until("member=NameLost")
            try await body(AdapterCalls(running.output))
            running.send(.kill)
        }
    }

    private static let header = "method call "

    /// Returns the next call that sets a discovery filter, or starts or stops a discovery.
    public func next() async throws -> Call {
        while true {
            try await output.until { [count] in Self.messages(in: $0).count > count }
            let message = Self.messages(in: output.text)[count]
            count += 1
            func field(_ name: String) -> Substring {
                message.firstRange(of: "\(name)=").map { message[$0.upperBound...].prefix { !" ;\n".contains($0) } }
                    ?? ""
            }
            let (method, sender) = (String(field("member")), field("sender"))
            guard ["SetDiscoveryFilter", "StartDiscovery", "StopDiscovery"].contains(method) else { continue }
            if !callers.contains(sender) { callers.append(sender) }
            return Call(method, Self.options(of: message), by: callers.firstIndex(of: sender)!)
        }
    }

    /// The messages that have been written whole: those with an argument end with the end of their array.
    private static func messages(in text: String) -> [Substring] {
        let starts = text.ranges(of: header).map(\.lowerBound)
        return zip(starts, starts.dropFirst() + [text.endIndex]).map { text[$0..<$1] }.filter { message in
            message.contains("member=SetDiscoveryFilter\n") ? message.contains("\n   ]\n") : message.contains("\n")
        }
    }

    private static let types: Set<Substring> = ["variant", "array", "boolean", "int16", "uint16", "string", "[", "]"]

    private static func options(of message: Substring) -> [String: String] {
        let entries = message.split(separator: "dict entry(").dropFirst().map { entry in
            entry.prefix { $0 != ")" }.split { " \n\"".contains($0) }.filter { !types.contains($0) }
        }
        return Dictionary(entries.map { (String($0.first ?? ""), $0.dropFirst().joined(separator: " ")) }) { $1 }
    }
}
