public import BLE

/// Something that happens on a simulated radio, which a test can disturb; see ``SimulatedDisturbance``.
public struct SimulatedEvent: Hashable, Sendable {
    enum Kind: String {
        case scan, advertisement, connect, discover, read, write, subscribe, notify, indicate, confirm, signalStrength,
            pair, disconnect, register, advertise, request
    }

    let kind: Kind
    /// Nil for any, and for events without one.
    let characteristic: CharacteristicKey?
    /// Nil for any.
    private(set) var central: DeviceID?

    init(_ kind: Kind, of characteristic: CharacteristicKey? = nil) {
        (self.kind, self.characteristic) = (kind, characteristic)
    }

    /// A central starts to scan, or changes what it scans for. An event of the radio, not of a peripheral.
    public static var scan: Self { Self(.scan) }
    /// An advertisement of a peripheral.
    public static var advertisement: Self { Self(.advertisement) }
    /// A central connects.
    public static var connect: Self { Self(.connect) }
    /// A central discovers the services.
    public static var discover: Self { Self(.discover) }
    /// A central reads an attribute.
    public static var read: Self { Self(.read) }
    /// A central writes an attribute.
    public static var write: Self { Self(.write) }
    /// A central subscribes to a characteristic.
    public static var subscribe: Self { Self(.subscribe) }
    /// A peripheral notifies a value.
    public static var notify: Self { Self(.notify) }
    /// A peripheral indicates a value.
    public static var indicate: Self { Self(.indicate) }
    /// A central confirms an indicated value: one that a program indicates, whose call gets the error of a fault, and
    /// any other from a characteristic that indicates and does not notify.
    ///
    /// Until such a value is confirmed, later ones over the link wait, also those of a host, as with bluetoothd. If the
    /// confirmation fails or is lost, or takes 30 s, the link ends then.
    public static var confirm: Self { Self(.confirm) }
    /// A central asks for the signal strength of a link.
    public static var signalStrength: Self { Self(.signalStrength) }
    /// A central pairs.
    public static var pair: Self { Self(.pair) }
    /// A central ends a link.
    public static var disconnect: Self { Self(.disconnect) }
    /// A host registers services.
    public static var register: Self { Self(.register) }
    /// A host starts to advertise.
    public static var advertise: Self { Self(.advertise) }
    /// A request of a central reaches a host: a read or a write.
    public static var request: Self { Self(.request) }

    /// A central reads a characteristic.
    public static func read<Value>(of characteristic: Characteristic<Value>) -> Self {
        Self(.read, of: characteristic.key)
    }

    /// A central writes a characteristic.
    public static func write<Value>(of characteristic: Characteristic<Value>) -> Self {
        Self(.write, of: characteristic.key)
    }

    /// A central subscribes to a characteristic.
    public static func subscribe<Value>(to characteristic: Characteristic<Value>) -> Self {
        Self(.subscribe, of: characteristic.key)
    }

    /// A peripheral notifies a value of a characteristic.
    public static func notify<Value>(from characteristic: Characteristic<Value>) -> Self {
        Self(.notify, of: characteristic.key)
    }

    /// A peripheral indicates a value of a characteristic.
    public static func indicate<Value>(from characteristic: Characteristic<Value>) -> Self {
        Self(.indicate, of: characteristic.key)
    }

    /// A central confirms an indicated value of a characteristic.
    public static func confirm<Value>(of characteristic: Characteristic<Value>) -> Self {
        Self(.confirm, of: characteristic.key)
    }

    /// A request of a central for a characteristic reaches a host: a read or a write of its value.
    public static func request<Value>(for characteristic: Characteristic<Value>) -> Self {
        Self(.request, of: characteristic.key)
    }

    /// The same event of one central alone: its requests and calls, and the values that are sent to it.
    ///
    /// ```swift
    /// await device.fail(.request(for: .batteryLevel).from(central), .next(2), with: .insufficientResources)
    /// ```
    ///
    /// Only events of this central are counted. A value over a link that several centrals of an adapter share is sent
    /// to each of them.
    ///
    /// - Precondition: It is not an advertisement, and not a registration or an advertising of a host. The central uses
    ///   a simulated radio.
    public func from(_ central: Central) -> Self {
        guard let backend = central.backend as? SimulatedBackend else {
            preconditionFailure("The central of a fault is not on a simulated radio.")
        }
        return from(backend.address)
    }

    /// The same event of the central with an address, such as that of a request to a host. Otherwise like `from(_:)`
    /// with a `Central`.
    public func from(_ central: DeviceID) -> Self {
        precondition(
            ![.advertisement, .register, .advertise].contains(kind), "The event \(kind) is not that of a central.")
        var event = self
        event.central = central
        return event
    }

    /// The error of a fault that names none.
    var usualError: BLEError {
        switch kind {
        case .scan: BLEError(.scanFailed, "a simulated fault")
        case .connect: BLEError(.connectionFailed, "the link could not be established: a simulated fault")
        case .discover: BLEError(.serviceDiscoveryFailed, "a simulated fault")
        case .disconnect: BLEError(.disconnectionFailed, "the link could not be ended: a simulated fault")
        case .register, .advertise: BLEError(.failed, "a simulated fault")
        case .pair: BLEError(.pairingFailed, "the pairing failed: a simulated fault")
        case .signalStrength: BLEError(.failed, "the signal strength could not be read: a simulated fault")
        default: BLEError(ATTError.unlikelyError)
        }
    }
}

/// Which of the events a fault disturbs, counted from when the fault is added.
public struct SimulatedOccurrence: Sendable {
    enum Kind: Sendable {
        case first(Int)
        case only(Int)
        case probability(Double)
        case condition(@Sendable () -> Bool)
    }

    let kind: Kind
    let seed: UInt64

    private init(_ kind: Kind, seed: UInt64 = 0) { (self.kind, self.seed) = (kind, seed) }

    /// All of them.
    public static let always = Self(.first(.max))
    /// The next ones, `count` of them.
    public static func next(_ count: Int) -> Self { Self(.first(count)) }
    /// Only that one: 1 is the next.
    public static func nth(_ number: Int) -> Self { Self(.only(number)) }
    /// Each with a probability, 0 to 1. The same seed disturbs the same ones in each run.
    public static func probability(_ probability: Double, seed: UInt64) -> Self {
        Self(.probability(probability), seed: seed)
    }
    /// Those that happen while the condition is true. It is called on the radio's executor, and must not wait.
    public static func `while`(_ condition: @escaping @Sendable () -> Bool) -> Self { Self(.condition(condition)) }
}
