import BLE
import BLETestSupport

/// A stack in the peripheral role that accepts every call, except those that a test makes it refuse.
actor ServingBackend: PeripheralBackend {
    nonisolated let limits: PeripheralLimits

    private var context: PeripheralContext?
    private var state = AdapterState.poweredOn
    private var refusals: [BLEError] = []
    private var held: CheckedContinuation<Void, Never>?
    private var holds = false
    private var heldValue: CheckedContinuation<Void, Never>?
    private var holdsValue = false
    /// The indications that are not confirmed, by the central that they are for.
    private var confirmations: [Peripheral.ID?: CheckedContinuation<Result<Void, BLEError>, Never>] = [:]
    /// The subscriptions that the host has ended.
    private(set) var refused: [(Peripheral.ID?, ATTError)] = []
    private(set) var disconnected: [Peripheral.ID] = []
    private(set) var registrations = 0
    private(set) var unregistered: [Int] = []
    private(set) var notified: [([UInt8], ServedAttribute)] = []
    /// The values that were sent outside the executor, if the stack supports that.
    let sentDirectly: SharedValue<[[UInt8]]>?
    private(set) var isShutDown = false
    /// The closure that accepts channels, and the one that ends the listener.
    private var accept: (@Sendable (any ChannelTransport, Peripheral.ID, PSM) -> Void)?
    private var endListening: (@Sendable (BLEError) -> Void)?

    /// The first characteristic of the first application.
    nonisolated let attribute = ServedAttribute(application: 1, service: 0, characteristic: 0)

    init(distinguishesSubscribers: Bool = false, sendsDirectly: Bool = false) {
        sentDirectly = sendsDirectly ? SharedValue([]) : nil
        limits = PeripheralLimits(
            reservedServices: [BluetoothUUID(0x1801)], distinguishesSubscribers: distinguishesSubscribers,
            requestTimeout: .seconds(5))
    }

    var isHolding: Bool { held != nil }
    var indicating: Int { confirmations.count }

    func start(_ context: PeripheralContext) async throws(BLEError) { self.context = context }
    func shutDown() async { isShutDown = true }
    func adapterState() -> AdapterState { state }

    // MARK: The test's side

    func refuse(_ errors: [BLEError]) { refusals = errors }
    func hold() { holds = true }
    func release() { held?.resume() }
    /// The next value waits until ``releaseValue()``, and others that are sent meanwhile overtake it.
    func holdValue() { holdsValue = true }
    var isHoldingValue: Bool { heldValue != nil }
    func releaseValue() { heldValue?.resume() }
    func confirm(_ result: Result<Void, BLEError>, by central: Peripheral.ID? = nil) {
        confirmations.removeValue(forKey: central)?.resume(returning: result)
    }
    func report(_ event: PeripheralBackendEvent) { context?.handleEvent(event) }

    /// A central opens a channel.
    func open(_ channel: any ChannelTransport, _ central: Peripheral.ID) { accept?(channel, central, 0x0095) }
    func stopListening() { endListening?(BLEError(.failed, "no more")) }

    func lose() {
        state = .resetting
        report(.stackLost(BLEError(.bluetoothLost, "gone")))
        report(.adapterStateChanged(.resetting))
    }

    func comeBack() {
        state = .poweredOn
        report(.adapterStateChanged(.poweredOn))
    }

    func read(_ request: AttributeRequest, descriptor: Int? = nil) async throws(ATTError) -> [UInt8] {
        guard let context else { throw .unlikelyError }
        return try await context.read(place(descriptor), request)
    }

    func write(_ value: [UInt8], _ request: AttributeRequest, descriptor: Int? = nil) async throws(ATTError) {
        guard let context else { throw .unlikelyError }
        try await context.write(place(descriptor), value, request)
    }

    private func place(_ descriptor: Int?) -> ServedAttribute {
        var place = attribute
        place.descriptor = descriptor
        return place
    }

    // MARK: The stack's side

    func register(_ services: [ServiceDefinition], as application: Int) async throws(BLEError) {
        if holds { await withCheckedContinuation { held = $0 } }
        if !refusals.isEmpty { throw refusals.removeFirst() }
        registrations += 1
    }

    func unregister(_ application: Int) async { unregistered.append(application) }

    func notify(
        _ value: [UInt8], from attribute: ServedAttribute, to central: Peripheral.ID?
    ) async throws(BLEError) {
        if holdsValue {
            holdsValue = false
            await withCheckedContinuation { heldValue = $0 }
        }
        notified.append((value, attribute))
    }

    func sender(for attribute: ServedAttribute, to central: Peripheral.ID?) -> ValueSender? {
        sentDirectly.map { sent in
            ValueSender { value in
                sent.change { $0.append(value) }
                return true
            }
        }
    }

    func indicate(
        _ value: [UInt8], from attribute: ServedAttribute, to central: Peripheral.ID?
    ) async throws(BLEError) {
        notified.append((value, attribute))
        let result = await withCheckedContinuation { confirmations[central] = $0 }
        try result.get()
    }

    func endSubscription(to attribute: ServedAttribute, of central: Peripheral.ID?, _ error: ATTError) {
        refused.append((central, error))
    }

    func disconnect(_ central: Peripheral.ID) async throws(BLEError) {
        disconnected.append(central)
        report(.centralDisconnected(central))
    }

    func startAdvertising(_ parameters: AdvertisingParameters, as advertising: Int) async throws(BLEError) {
        if !refusals.isEmpty { throw refusals.removeFirst() }
    }

    func stopAdvertising(_ advertising: Int) async {}

    func publishChannel(
        _ psm: PSM?, _ options: ChannelOptions, as publication: Int,
        accept: @escaping @Sendable (any ChannelTransport, Peripheral.ID, PSM) -> Void,
        onEnd: @escaping @Sendable (BLEError) -> Void
    ) async throws(BLEError) -> PSM {
        (self.accept, endListening) = (accept, onEnd)
        return psm ?? 0x0095
    }
}
