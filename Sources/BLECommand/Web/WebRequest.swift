import BLEDefinitions

#if Web
    import BLE
    import FoundationEssentials

    /// What a page asks for: a command of this program, `{"arguments": ["read", "C4:7C:8D:00:00:01", "2a19"]}`.
    ///
    /// A page gives no options but those that it needs, so that it can neither write files nor choose another bus.
    struct WebRequest: Equatable, Sendable {
        private let name: String
        /// What follows the name.
        private let rest: [String]
        /// The peripheral that has a link while the command runs. Nil if it needs none.
        let peripheral: Peripheral.ID?

        /// What a page may give to a command.
        private struct Form {
            /// The options of a page.
            var options: Set<String> = []
            /// The number of other arguments, of which the first is the address of a peripheral.
            var count = 0
            var needsLink = false
            /// Whether the command changes the peripheral, or what this machine knows of it.
            var needsToken = false
            /// The options of every page.
            var always: [String] = []
        }

        private static let forms: [String: Form] = [
            "adapters": Form(),
            "scan": Form(options: ["--duplicates"], always: ["--duration", "0"]),
            "inspect": Form(options: ["--values"], count: 1, needsLink: true),
            "connect": Form(count: 1, needsLink: true),
            "read": Form(count: 2, needsLink: true),
            "notify": Form(count: 2, needsLink: true, needsToken: true),
            "write": Form(options: ["--without-response"], count: 3, needsLink: true, needsToken: true),
            // A page has no prompts.
            "pair": Form(count: 1, needsLink: true, needsToken: true, always: ["--capability", "no-input-no-output"]),
            "unpair": Form(count: 1, needsToken: true),
        ]

        /// The maximum length of a request, in bytes. A value has at most 512 bytes, which are 1,024 digits.
        static let limit = 4096

        /// Reads a request.
        ///
        /// - Parameter token: what a page needs to change something. Nil if none may.
        /// - Throws: `invalidArgument`; `notPermitted` without the token.
        init(_ payload: some Collection<UInt8>, token: String?) throws(BLEError) {
            guard payload.count <= Self.limit, case .object(let keys)? = try? JSONReader.read(Data(payload)),
                case .array(let values)? = keys["arguments"]
            else { throw BLEError(.invalidArgument, "a request is an object with arguments", isRetryable: false) }
            var given: [String] = []
            for case .string(let text) in values { given.append(text) }
            guard let name = given.first, given.count == values.count, let form = Self.forms[name] else {
                throw BLEError(.invalidArgument, "a page cannot run this command", isRetryable: false)
            }
            let options = given.dropFirst().prefix { $0.hasPrefix("--") }
            let rest = Array(given.dropFirst(1 + options.count))
            // A hyphen is this program's standard input.
            guard form.options.isSuperset(of: options), rest.count == form.count, !rest.contains("-") else {
                throw BLEError(.invalidArgument, "a page cannot run \(name) like that", isRetryable: false)
            }
            let id = rest.first.map { Peripheral.ID(rawValue: $0) }
            guard id?.isAddress ?? true else {
                throw BLEError(.invalidArgument, "not the address of a peripheral", isRetryable: false)
            }
            if form.needsToken {
                guard let token else {
                    throw BLEError(
                        .notPermitted, "this server changes nothing", isRetryable: false,
                        remedy: "Start it with --allow-write.")
                }
                guard case .string(token)? = keys["token"] else {
                    throw BLEError(
                        .notPermitted, "\(name) needs the token", isRetryable: false,
                        remedy: "Open the address that the program has printed.")
                }
            }
            (self.name, peripheral) = (name, form.needsLink ? id : nil)
            self.rest = form.always + options + ["--"] + rest
        }

        /// Returns the arguments of the command line.
        ///
        /// - Parameter timeout: the time limit of each step, in seconds.
        func arguments(timeout: Double) -> [String] { [name, "--json", "--timeout", "\(timeout)"] + rest }
    }
#endif
