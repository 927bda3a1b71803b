public import BLE
internal import Synchronization

/// The device's side of Nordic's Secure DFU: a bootloader that receives firmware.
///
/// ```swift
/// let bootloader = SecureDFUPeripheral { initPacket in
///     200_000    // The size of the firmware; throws if the signature in the init packet is not valid.
/// } onFirmware: { initPacket, firmware in
///     print("received", firmware.count, "bytes")
/// }
/// try await host.serve(bootloader.definition(name: "DfuTarg"))
/// ```
///
/// One central at a time uses it: requests and packets of others are rejected with `insufficientResources` until its
/// link ends, or until it has sent nothing for 30 s. What has arrived is kept, and the transfer goes on if a central
/// has the same firmware. A request without a subscription is rejected with `improperlyConfigured`.
///
/// The handlers may take their time, although centrals usually wait 30 s: other requests are rejected with
/// `procedureInProgress` meanwhile. After 120 s, the next request takes the place of one whose handler has not
/// returned: what has arrived is forgotten, and the result of the handler is ignored.
public final class SecureDFUPeripheral: Sendable {
    /// Validates an init packet of 1 to 512 bytes. Returns the size of the firmware that it describes, in bytes, or
    /// throws to refuse it with ``DFUResult/invalidObject``.
    public typealias InitPacketHandler = @Sendable (_ initPacket: [UInt8]) async throws -> Int
    /// Receives the whole firmware, before the last request is answered: verify its hash, and throw to refuse it with
    /// ``DFUResult/invalidObject``. Either way, the next transfer begins anew.
    public typealias FirmwareHandler = @Sendable (_ initPacket: [UInt8], _ firmware: [UInt8]) async throws -> Void

    private struct State {
        var receiver = DFUReceiver()
        var holder = Holder()
        /// The number of the handler that runs. Nil if none does.
        var running: Int?
        var lastRun = 0
    }

    private let state = Mutex(State())
    private let subscribers = ControlPointSubscribers<Notifier>()
    private let security: AttributeSecurity
    private let onInitPacket: InitPacketHandler
    private let onFirmware: FirmwareHandler

    /// Creates a device.
    ///
    /// - Parameter security: the security of the link that requests and packets need. By default none, as with the
    ///   bootloader of the nRF5 SDK, which relies on the signature.
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
                    onSubscribe: { notifier in try await self.subscribers.hold(notifier) }),
                CharacteristicDefinition(
                    .dfuPacket, .writeWithoutResponse, security: security,
                    onWrite: { (packet, request) throws(ATTError) in try await self.receive(packet, request) }),
            ],
            onDisconnect: { central in self.state.withLock { $0.holder.release(central) } })
    }

    /// The device as a peripheral that advertises the service.
    public func definition(name: String) -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(
                localName: name, rssi: -55, serviceUUIDs: [.secureDFU], flags: .generalDiscoverable),
            services: [service])
    }

    /// Admits a request, and returns how its central is notified.
    private func admit(_ request: AttributeRequest, _ state: inout State) throws(ATTError) -> Notifier {
        guard let notifier = subscribers.find(request.central) else { throw .improperlyConfigured }
        let isBusy = state.running != nil
        guard state.holder.isAvailable(to: request.central, isBusy: isBusy) else {
            let isHeld = state.holder.central != nil && state.holder.central != request.central
            throw isHeld ? .insufficientResources : .procedureInProgress
        }
        if isBusy {
            // The handler hangs. It may have a part of what has arrived.
            state.running = nil
            state.receiver = DFUReceiver()
        }
        state.holder.take(request.central, clock: request.clock)
        return notifier
    }

    private func receive(_ packet: [UInt8], _ request: AttributeRequest) async throws(ATTError) {
        let (receipt, notifier) = try state.withLock { state throws(ATTError) in
            let notifier = try admit(request, &state)
            return (state.receiver.receive(packet), notifier)
        }
        if let receipt { await notifier.notify(receipt) }
    }

    private func handle(_ value: [UInt8], _ request: AttributeRequest) async throws(ATTError) {
        guard let opcode = value.first else { throw .invalidAttributeValueLength }
        let (step, number, notifier) = try state.withLock { state throws(ATTError) in
            let notifier = try admit(request, &state)
            let step = state.receiver.handle(opcode, Array(value.dropFirst()))
            if case .respond = step { return (step, 0, notifier) }
            state.lastRun += 1
            state.running = state.lastRun
            return (step, state.lastRun, notifier)
        }
        let response = [DFUOpcode.response, opcode]
        if case .respond(let result, let parameter) = step {
            await notifier.notify(response + [result.rawValue] + parameter)
        } else {
            // The write is answered at once, because a handler may take longer than a write may. The link's end does
            // not stop it: the device would not know what it has.
            Task {
                if let result = await perform(step, number) { await notifier.notify(response + [result.rawValue]) }
            }
        }
    }

    /// Runs the handler that follows a request. Returns nil if another request has taken its place.
    private func perform(_ step: DFUReceiver.Step, _ number: Int) async -> DFUResult? {
        switch step {
        case .respond(let result, _): return result
        case .validate(let initPacket):
            let size = try? await onInitPacket(initPacket)
            return finish(number) { $0.didValidate(initPacket, firmwareSize: size) }
        case .install(let initPacket, let firmware):
            let isSuccess = (try? await onFirmware(initPacket, firmware)) != nil
            return finish(number) { $0.didInstall(isSuccess: isSuccess) }
        }
    }

    private func finish(_ number: Int, _ body: (inout DFUReceiver) -> DFUResult) -> DFUResult? {
        state.withLock { state in
            guard state.running == number else { return nil }
            state.running = nil
            state.holder.handlerReturned()
            return body(&state.receiver)
        }
    }
}
