import BLE
internal import Waiting

/// A user that answers pairing prompts as a check requires, and records them.
actor PairingUser: PairingDelegate {
    enum Event: Equatable {
        case confirm, enter, show(Passkey), authorize, ended
    }

    private var confirms: Bool
    private var authorizes: Bool
    private var passkey: Passkey?
    private var hesitates: Bool
    private(set) var events: [Event] = []
    private var observers: [(matches: (Event) -> Bool, outcome: Outcome<Event>)] = []
    /// Why there will be no further prompt.
    private var lack: BLEError?

    init(confirms: Bool = true, authorizes: Bool = true, passkey: Passkey? = nil, hesitates: Bool = false) {
        self.confirms = confirms
        self.authorizes = authorizes
        self.passkey = passkey
        self.hesitates = hesitates
    }

    func set(confirms: Bool) { self.confirms = confirms }
    func set(passkey: Passkey?) { self.passkey = passkey }

    /// Returns the last event that matches, or waits for one. Throws if the pairing ends without such a prompt.
    func until(_ matches: @escaping @Sendable (Event) -> Bool) async throws -> Event {
        if let event = events.last(where: matches) { return event }
        if let lack, !matches(.ended) { throw lack }
        let outcome = Outcome<Event>()
        observers.append((matches, outcome))
        return try await outcome.wait()
    }

    /// A pairing begins, with prompts to come.
    func pairingBegins() { lack = nil }

    /// Fails what waits for a prompt.
    func pairingEnded(_ result: BLEError?) {
        let lack = BLEError(
            .pairingFailed, "the pairing has ended without the prompt: \(result.map { "\($0)" } ?? "it has succeeded")")
        self.lack = lack
        for observer in observers where !observer.matches(.ended) { observer.outcome.deliver(.failure(lack)) }
    }

    private func note(_ event: Event) async {
        events.append(event)
        for observer in observers where observer.matches(event) { observer.outcome.deliver(.success(event)) }
        // A hesitating user does not answer until the prompt is cancelled.
        if hesitates, event != .ended { _ = try? await Outcome<Void>().wait() }
    }

    func confirm(_ passkey: Passkey, for peripheral: Peripheral) async -> Bool {
        await note(.confirm)
        return confirms
    }

    func enterPasskey(for peripheral: Peripheral) async -> Passkey? {
        await note(.enter)
        return passkey
    }

    func show(_ passkey: Passkey, entered: Int, for peripheral: Peripheral) async { await note(.show(passkey)) }

    func authorizePairing(with peripheral: Peripheral) async -> Bool {
        await note(.authorize)
        return authorizes
    }

    func promptEnded(for peripheral: Peripheral) async { await note(.ended) }
}
