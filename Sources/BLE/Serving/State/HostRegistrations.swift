internal import Waiting

/// What a host has asked the stack to serve and to advertise, by number, in the order in which it was begun.
struct HostRegistrations {
    /// Whether the stack has what it was asked for.
    private enum State {
        /// It has been asked for the first time. If it refuses, the call that began throws.
        case beginning
        case active
        /// It had it, and is asked again.
        case lost
    }

    private struct Registration {
        var definition: PeripheralDefinition?
        var services = State.beginning
        var parameters: AdvertisingParameters?
        var advertising = State.beginning
        /// The wait of the call that serves or advertises.
        var user: Outcome<Void>?
    }

    /// What the end of advertising means.
    struct AdvertisingEnd {
        /// Whether it was on the air.
        let wasActive: Bool
        /// Whether it is not started again.
        let isOver: Bool
        /// The wait of the call that only advertises.
        let user: Outcome<Void>?
    }

    private var registrations: [Int: Registration] = [:]

    /// The numbers, in the order in which they were begun.
    var numbers: [Int] { registrations.keys.sorted() }
    /// The waits of all calls that serve or advertise.
    var users: [Outcome<Void>] { registrations.values.compactMap(\.user) }
    /// The definitions that are served, in no order.
    var definitions: [PeripheralDefinition] { registrations.values.compactMap(\.definition) }

    /// The definition that a number stands for. Nil if it is not served.
    func definition(_ number: Int) -> PeripheralDefinition? { registrations[number]?.definition }

    // MARK: Beginning and end

    mutating func serve(_ definition: PeripheralDefinition, as number: Int) {
        registrations[number] = Registration(definition: definition)
    }

    mutating func advertise(_ parameters: AdvertisingParameters, as number: Int) {
        registrations[number, default: Registration()].parameters = parameters
    }

    /// Returns the wait of the call that serves or advertises.
    mutating func user(of number: Int) -> Outcome<Void> {
        let user = Outcome<Void>()
        registrations[number]?.user = user
        return user
    }

    func fail(_ number: Int, _ error: BLEError) { registrations[number]?.user?.deliver(.failure(error)) }

    /// Removes everything of a number. Returns whether it was advertised.
    mutating func remove(_ number: Int) -> Bool {
        registrations.removeValue(forKey: number)?.parameters != nil
    }

    /// Removes advertising that could not be started.
    mutating func removeAdvertising(_ number: Int) {
        registrations[number]?.parameters = nil
        if registrations[number]?.definition == nil { registrations[number] = nil }
    }

    // MARK: Services

    /// Records that the stack serves the services. Returns false if they are no longer wanted.
    mutating func servicesBegan(_ number: Int) -> Bool {
        guard registrations[number]?.definition != nil else { return false }
        registrations[number]?.services = .active
        return true
    }

    /// Records that the stack no longer serves the services. Returns whether it did.
    mutating func servicesEnded(_ number: Int) -> Bool {
        guard let registration = registrations[number], registration.definition != nil,
            registration.services == .active
        else { return false }
        registrations[number]?.services = .lost
        return true
    }

    /// The definition whose services the stack has lost.
    func lostDefinition(_ number: Int) -> PeripheralDefinition? {
        guard let registration = registrations[number], registration.services == .lost else { return nil }
        return registration.definition
    }

    // MARK: Advertising

    /// Records that the stack advertises. Returns false if the advertising has ended already, or is no longer wanted.
    mutating func advertisingBegan(_ number: Int) -> Bool {
        guard registrations[number]?.parameters != nil else { return false }
        registrations[number]?.advertising = .active
        return true
    }

    /// Records that the stack has ceased to advertise. Nil if it was not asked to.
    ///
    /// - Parameter isLoss: whether it ended before its duration has passed.
    mutating func advertisingEnded(_ number: Int, isLoss: Bool) -> AdvertisingEnd? {
        guard let registration = registrations[number], registration.parameters != nil else { return nil }
        let wasActive = registration.advertising == .active
        let isOver = !isLoss || registration.advertising == .beginning
        if isOver { registrations[number]?.parameters = nil } else { registrations[number]?.advertising = .lost }
        return AdvertisingEnd(
            wasActive: wasActive, isOver: isOver, user: registration.definition == nil ? registration.user : nil)
    }

    /// Records that the stack has lost everything that it advertised. Returns whether this was on the air.
    mutating func loseAdvertising(_ number: Int) -> Bool {
        guard let registration = registrations[number], registration.parameters != nil,
            registration.advertising == .active
        else { return false }
        registrations[number]?.advertising = .lost
        return true
    }

    /// Whether a number is advertised, on the air or not.
    func isAdvertised(_ number: Int) -> Bool { registrations[number]?.parameters != nil }

    /// The parameters of advertising that the stack has lost, unless its services are still missing.
    func lostAdvertising(_ number: Int) -> AdvertisingParameters? {
        guard let registration = registrations[number], registration.advertising == .lost,
            registration.definition == nil || registration.services == .active
        else { return nil }
        return registration.parameters
    }
}
