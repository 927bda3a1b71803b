public import BLE
internal import BLESimulation

extension PeripheralBackend {
    /// A backend that records everything between a host and `backend`.
    ///
    /// ```swift
    /// let host = try await PeripheralHost(backend: .recording(.bluez(), to: recorder))
    /// ```
    public static func recording<Base: PeripheralBackend>(
        _ backend: Base, to recorder: Recorder
    ) -> RecordingPeripheralBackend<Base> where Self == RecordingPeripheralBackend<Base> {
        RecordingPeripheralBackend(backend, recorder)
    }
}

/// A backend in the peripheral role that passes everything on to another, and records it.
///
/// It runs on the other's executor.
public actor RecordingPeripheralBackend<Base: PeripheralBackend>: PeripheralBackend {
    private let base: Base
    private var recorder: RecorderLine

    init(_ base: Base, _ recorder: Recorder) {
        self.base = base
        self.recorder = RecorderLine(recorder)
    }

    /// The executor of the recorded backend.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { base.unownedExecutor }
    /// Those of the recorded backend.
    public nonisolated var limits: PeripheralLimits { base.limits }
    /// That of the recorded backend.
    public nonisolated var clock: any Clock<Duration> { base.clock }

    /// Starts the recorded backend.
    public func start(_ context: PeripheralContext) async throws(BLEError) {
        recorder.begin(context.clock, stack: "\(Base.self)")
        let recorder = recorder
        let recorded = PeripheralContext(
            handleEvent: { event in
                recorder.event(RecordedEntry(event))
                context.handleEvent(event)
            },
            read: { (attribute, request) async throws(ATTError) in
                let call = recorder.call(RecordedEntry(.requestRead, attribute, request))
                do throws(ATTError) {
                    let value = try await context.read(attribute, request)
                    recorder.reply(call) { $0.value = value }
                    return value
                } catch {
                    recorder.reply(call, BLEError(error))
                    throw error
                }
            },
            write: { (attribute, value, request) async throws(ATTError) in
                let call = recorder.call(RecordedEntry(.requestWrite, attribute, request, value: value))
                do throws(ATTError) {
                    try await context.write(attribute, value, request)
                    recorder.reply(call)
                } catch {
                    recorder.reply(call, BLEError(error))
                    throw error
                }
            },
            pairing: context.pairing, logger: context.logger, clock: context.clock)
        try await recorder.record(RecordedEntry(.start)) { _ throws(BLEError) in try await base.start(recorded) }
        recorder.event(RecordedEntry(.hostState, text: adapterState().rawValue))
    }

    /// Records the call and passes it on.
    public func shutDown() async {
        try? await recorder.record(RecordedEntry(.shutDown)) { _ throws(BLEError) in await base.shutDown() }
    }

    /// That of the recorded backend.
    public func adapterState() -> AdapterState { base.assumeIsolated { $0.adapterState() } }

    /// Records the call and passes it on.
    public func register(_ services: [ServiceDefinition], as application: Int) async throws(BLEError) {
        var entry = RecordedEntry(.register, number: application)
        entry.services = GATTDatabase(of: services)
        try await recorder.record(entry) { _ throws(BLEError) in
            try await base.register(services, as: application)
        }
    }

    /// Records the call and passes it on.
    public func unregister(_ application: Int) async {
        try? await recorder.record(RecordedEntry(.unregister, number: application)) { _ throws(BLEError) in
            await base.unregister(application)
        }
    }

    /// Records the call and passes it on.
    public func notify(
        _ value: [UInt8], from attribute: ServedAttribute, to central: DeviceID?
    ) async throws(BLEError) {
        try await recorder.record(RecordedEntry(.notify, attribute, central, value: value)) { _ throws(BLEError) in
            try await base.notify(value, from: attribute, to: central)
        }
    }

    /// A sender of the recorded backend, whose values are recorded.
    public func sender(for attribute: ServedAttribute, to central: DeviceID?) -> ValueSender? {
        guard let sender = base.assumeIsolated({ $0.sender(for: attribute, to: central) }) else { return nil }
        let recorder = recorder
        return ValueSender { value in
            let call = recorder.call(RecordedEntry(.notify, attribute, central, value: value))
            let isSent = await sender.send(value)
            recorder.reply(call, isSent ? nil : BLEError(.bluetoothLost, "the stack is gone"))
            return isSent
        }
    }

    /// Records the call and passes it on.
    public func indicate(
        _ value: [UInt8], from attribute: ServedAttribute, to central: DeviceID?
    ) async throws(BLEError) {
        try await recorder.record(RecordedEntry(.indicate, attribute, central, value: value)) { _ throws(BLEError) in
            try await base.indicate(value, from: attribute, to: central)
        }
    }

    /// Records the end and passes it on.
    public func endSubscription(to attribute: ServedAttribute, of central: DeviceID?, _ error: ATTError) {
        var entry = RecordedEntry(.unsubscribed, attribute, central)
        entry.error = BLEError(error)
        recorder.event(entry)
        base.assumeIsolated { $0.endSubscription(to: attribute, of: central, error) }
    }

    /// Records the call and passes it on.
    public func disconnect(_ central: DeviceID) async throws(BLEError) {
        try await recorder.record(RecordedEntry(.endLink, peripheral: central)) { _ throws(BLEError) in
            try await base.disconnect(central)
        }
    }

    /// Records the call and the packets, and passes it on.
    public func publishChannel(
        _ psm: PSM?, _ options: ChannelOptions, as publication: Int,
        accept: @escaping @Sendable (any ChannelTransport, DeviceID, PSM) -> Void,
        onEnd: @escaping @Sendable (BLEError) -> Void
    ) async throws(BLEError) -> PSM {
        let recorder = recorder
        var entry = RecordedEntry(.publishChannel, number: psm.map { Int($0.rawValue) })
        entry.channel = options
        return try await recorder.record(entry, reply: { $1.number = Int($0.rawValue) }) { _ throws(BLEError) in
            try await base.publishChannel(
                psm, options, as: publication,
                accept: { transport, central, psm in
                    let call = recorder.call(
                        RecordedEntry(.acceptChannel, peripheral: central, number: Int(psm.rawValue)))
                    recorder.reply(call) { $0.number = transport.maximumLength }
                    accept(
                        RecordingTransport(base: transport, recorder: recorder, call: call, peripheral: central),
                        central, psm)
                }, onEnd: onEnd)
        }
    }

    /// Passes the call on.
    public func unpublishChannel(_ publication: Int) async { await base.unpublishChannel(publication) }

    /// Records the call and passes it on.
    public func startAdvertising(_ parameters: AdvertisingParameters, as advertising: Int) async throws(BLEError) {
        var entry = RecordedEntry(.advertise, number: advertising)
        entry.advertisement = Advertisement(
            localName: parameters.localName, txPower: parameters.includesTxPower ? parameters.txPower : nil,
            serviceUUIDs: Set(parameters.serviceUUIDs), manufacturerData: parameters.manufacturerData,
            serviceData: parameters.serviceData, appearance: parameters.appearance,
            isConnectable: parameters.isConnectable,
            solicitedServiceUUIDs: Set(parameters.solicitedServiceUUIDs), structures: parameters.structures)
        try await recorder.record(entry) { _ throws(BLEError) in
            try await base.startAdvertising(parameters, as: advertising)
        }
    }

    /// Records the call and passes it on.
    public func stopAdvertising(_ advertising: Int) async {
        try? await recorder.record(RecordedEntry(.stopAdvertising, number: advertising)) { _ throws(BLEError) in
            await base.stopAdvertising(advertising)
        }
    }
}

extension RecordedEntry {
    fileprivate init(
        _ what: What, _ attribute: ServedAttribute, _ central: DeviceID?, value: [UInt8]? = nil, offset: Int? = nil
    ) {
        var place = "\(attribute.application).\(attribute.service).\(attribute.characteristic)"
        if let descriptor = attribute.descriptor { place += ".\(descriptor)" }
        self.init(what, peripheral: central, value: value, offset: offset, text: place)
    }

    fileprivate init(
        _ what: What, _ attribute: ServedAttribute, _ request: AttributeRequest, value: [UInt8]? = nil
    ) {
        self.init(what, attribute, request.central, value: value, offset: request.offset)
    }

    fileprivate init(_ event: PeripheralBackendEvent) {
        switch event {
        case .adapterStateChanged(let state): self.init(.hostState, text: state.rawValue)
        case .stackLost(let error): self.init(.hostLost, error: error)
        case .applicationEnded(let number, let error): self.init(.applicationEnded, number: number, error: error)
        case .advertisingEnded(let number, let error): self.init(.advertisingEnded, number: number, error: error)
        case .centralConnected(let id): self.init(.centralConnected, peripheral: id)
        case .centralDisconnected(let id): self.init(.centralDisconnected, peripheral: id)
        case .subscribed(let attribute, let central, let length):
            self.init(.subscribed, attribute, central)
            number = length
        case .unsubscribed(let attribute, let central): self.init(.unsubscribed, attribute, central)
        }
    }
}
