public import BLE
internal import Synchronization

/// The device's side of Nordic's Secure DFU: a bootloader that receives firmware.
///
/// ```swift
/// let target = SecureDFUTarget { initPacket in
///     200_000    // The size of the firmware; throws if the signature in the init packet is not valid.
/// } onFirmware: { initPacket, firmware in
///     print("received", firmware.count, "bytes")
/// }
/// try await host.serve(target.definition(name: "DfuTarg"))
/// ```
///
/// One central at a time uses it: requests and packets of others are rejected with `insufficientResources` until its
/// link ends. What has arrived is kept, and the transfer goes on if a central has the same firmware. A request without
/// a subscription is rejected with `improperlyConfigured`. The handlers may take their time, although centrals usually
/// wait 30 s: other requests are rejected with `procedureInProgress` meanwhile.
public final class SecureDFUTarget: Sendable {
    /// Validates an init packet. Returns the size of the firmware that it describes, in bytes, or throws to refuse it.
    public typealias InitPacketHandler = @Sendable (_ initPacket: [UInt8]) async throws -> Int
    /// Receives the whole firmware, before the last request is answered: verify its hash, and throw to refuse it.
    public typealias FirmwareHandler = @Sendable (_ initPacket: [UInt8], _ firmware: [UInt8]) async throws -> Void

    private struct State {
        var receiver = DFUReceiver()
        var owner: DeviceID?
        /// The subscriptions, by central. Nil for centrals that the system does not distinguish.
        var notifiers: [DeviceID?: Notifier] = [:]
        /// The number of each of these subscriptions.
        var subscriptions: [DeviceID?: Int] = [:]
        var lastSubscription = 0
        var isBusy = false
    }

    private let state = Mutex(State())
    private let security: AttributeSecurity
    private let onInitPacket: InitPacketHandler
    private let onFirmware: FirmwareHandler

    /// Creates a device.
    public init(
        security: AttributeSecurity = .open, onInitPacket: @escaping InitPacketHandler,
        onFirmware: @escaping FirmwareHandler
    ) {
        self.security = security
        self.onInitPacket = onInitPacket
        self.onFirmware = onFirmware
    }

    /// The service with its two characteristics.
    public var service: ServiceDefinition {
        ServiceDefinition(
            .secureDFU,
            characteristics: [
                CharacteristicDefinition(
                    .dfuControlPoint, [.write, .notify], security: security,
                    onWrite: { (value, request) throws(ATTError) in try await self.handle(value, request) },
                    onSubscribe: { notifier in
                        let number = self.state.withLock { state in
                            state.lastSubscription += 1
                            state.notifiers[notifier.central] = notifier
                            state.subscriptions[notifier.central] = state.lastSubscription
                            return state.lastSubscription
                        }
                        // A later subscription may be in its place.
                        defer {
                            self.state.withLock { state in
                                if state.subscriptions[notifier.central] == number {
                                    state.notifiers[notifier.central] = nil
                                    state.subscriptions[notifier.central] = nil
                                }
                            }
                        }
                        // Waits until the task is cancelled.
                        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
                        for await _ in stream {}
                        continuation.finish()
                    }),
                CharacteristicDefinition(
                    .dfuPacket, .writeWithoutResponse, security: security,
                    onWrite: { (packet, request) throws(ATTError) in try await self.receive(packet, request) }),
            ],
            onDisconnect: { central in
                self.state.withLock { if $0.owner == central { $0.owner = nil } }
            })
    }

    /// The device as a peripheral that advertises the service.
    public func definition(name: String) -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(
                localName: name, rssi: -55, serviceUUIDs: [.secureDFU], flags: .generalDiscoverable),
            services: [service])
    }

    /// Admits a central, and returns how it is notified.
    private static func admit(_ central: DeviceID, _ state: inout State) throws(ATTError) -> Notifier {
        guard let notifier = state.notifiers[central] ?? state.notifiers[.none] else { throw .improperlyConfigured }
        guard state.owner == nil || state.owner == central else { throw .insufficientResources }
        state.owner = central
        return notifier
    }

    private func receive(_ packet: [UInt8], _ request: AttributeRequest) async throws(ATTError) {
        let (receipt, notifier) = try state.withLock { state throws(ATTError) in
            let notifier = try Self.admit(request.central, &state)
            return (state.receiver.receive(packet), notifier)
        }
        if let receipt { await notifier.notify(receipt) }
    }

    private func handle(_ value: [UInt8], _ request: AttributeRequest) async throws(ATTError) {
        guard let opcode = value.first else { throw .invalidAttributeValueLength }
        let (step, notifier) = try state.withLock { state throws(ATTError) in
            let notifier = try Self.admit(request.central, &state)
            guard !state.isBusy else { throw .procedureInProgress }
            let step = state.receiver.handle(opcode, Array(value.dropFirst()))
            if case .respond = step {} else { state.isBusy = true }
            return (step, notifier)
        }
        let response = [DFUOpcode.response, opcode]
        if case .respond(let result, let parameter) = step {
            await notifier.notify(response + [result.rawValue] + parameter)
        } else {
            // The write is answered at once, because a handler may take longer than a write may. The link's end does
            // not stop it: the device would not know what it has.
            Task { await notifier.notify(response + [await perform(step).rawValue]) }
        }
    }

    /// Runs the handler that follows a request.
    private func perform(_ step: DFUReceiver.Step) async -> DFUResult {
        switch step {
        case .respond(let result, _): return result
        case .validate(let initPacket):
            let size = try? await onInitPacket(initPacket)
            return state.withLock { state in
                state.isBusy = false
                return state.receiver.didValidate(initPacket, firmwareSize: size)
            }
        case .install(let initPacket, let firmware):
            let isSuccess = (try? await onFirmware(initPacket, firmware)) != nil
            return state.withLock { state in
                state.isBusy = false
                return state.receiver.didInstall(isSuccess: isSuccess)
            }
        }
    }
}
