public import BLE
internal import Logging
internal import Synchronization
internal import Waiting

extension PeripheralBackend where Self == SimulatedPeripheralBackend {
    /// A backend on a simulated radio. Its peripheral is found by the radio's centrals.
    ///
    /// - Parameters:
    ///   - requestTimeout: the stack's time limit for the answer to a request. That of bluetoothd is 5 s.
    ///   A handler that takes longer than four fifths of it fails.
    ///   - adapter: the host's adapter, such as `hci1`; by default, the first that is switched on.
    public static func simulated(
        _ radio: SimulatedRadio, adapter: String? = nil, requestTimeout: Duration = .seconds(5)
    ) -> SimulatedPeripheralBackend {
        SimulatedPeripheralBackend(radio: radio, adapter: adapter, requestTimeout: requestTimeout)
    }
}

/// One host's backend on a simulated radio.
///
/// It runs on the radio's executor, as does its host. The radio's centrals receive its advertisements as one, with the
/// content of all of them. It has up to eight links at a time.
public actor SimulatedPeripheralBackend: PeripheralBackend {
    private let radio: SimulatedRadio
    private let adapter: String?
    private let requestTimeout: Duration
    private var context: PeripheralContext?
    private var id: DeviceID?
    /// The address at which centrals find the host.
    package var peripheral: DeviceID? { id }
    private var applications: [(number: Int, services: [ServiceDefinition])] = []
    private var advertisements: [(number: Int, parameters: AdvertisingParameters, end: Task<Void, Never>?)] = []
    private var notifiers: [ServedAttribute: [DeviceID: HostedSubscription]] = [:]
    /// The numbers at which channels are accepted.
    private var publications: [Int: PSM] = [:]
    private var lastNumber = 0

    /// The same as the radio's.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { radio.unownedExecutor }

    /// The limits of bluetoothd, except that this backend distinguishes subscribers.
    public nonisolated var limits: PeripheralLimits {
        PeripheralLimits(
            reservedServices: [BluetoothUUID(0x1800), BluetoothUUID(0x1801)], requestTimeout: requestTimeout)
    }

    init(radio: SimulatedRadio, adapter: String?, requestTimeout: Duration) {
        self.radio = radio
        self.adapter = adapter
        self.requestTimeout = requestTimeout
    }

    /// Joins the radio.
    public func start(_ context: PeripheralContext) async throws(BLEError) {
        self.context = context
        id = try await radio.openHost(adapter) { [weak self] event in self?.assumeIsolated { $0.handle(event) } }
    }

    /// Leaves the radio.
    public func shutDown() async {
        for advertisement in advertisements { advertisement.end?.cancel() }
        (applications, advertisements) = ([], [])
        if let id { await radio.closeHost(id) }
        context = nil
    }

    /// That of its adapter.
    public func adapterState() -> AdapterState {
        let id = id
        return radio.assumeIsolated { $0.adapterState(ofHost: id) }
    }

    private func handle(_ event: PeripheralBackendEvent) {
        switch event {
        case .stackLost, .adapterStateChanged(.unavailable):
            applications = []
            forgetAdvertisements()
        case .adapterStateChanged(.poweredOff): forgetAdvertisements()
        default: break
        }
        context?.handleEvent(event)
    }

    private func forgetAdvertisements() {
        for advertisement in advertisements { advertisement.end?.cancel() }
        advertisements = []
    }

    // MARK: Services

    /// Adds the services to the peripheral, after those of earlier applications.
    public func register(_ services: [ServiceDefinition], as application: Int) async throws(BLEError) {
        _ = try checkReady()
        trace("register", ["services": "\(services.map(\.uuid))"])
        _ = try await radio.admit(.register, at: id, nil)
        // The adapter may have been switched off, and the services must not outlive that.
        let context = try checkReady()
        let forwarding = services.enumerated().map { position, service in
            var service = service
            // The host reports ended links itself.
            service.onDisconnect = nil
            service.characteristics = service.characteristics.enumerated().map { index, characteristic in
                forward(
                    characteristic,
                    ServedAttribute(application: application, service: position, characteristic: index), context)
            }
            return service
        }
        applications.append((application, forwarding))
        updateServices()
    }

    private func updateServices() {
        guard let id else { return }
        let services = applications.flatMap(\.services)
        radio.assumeIsolated { $0.setServices(services, id) }
    }

    /// Throws if the host cannot register anything now.
    private func checkReady() throws(BLEError) -> PeripheralContext {
        guard let context, id != nil else { throw .shutDown }
        try SimulatedRadio.check(adapterState())
        return context
    }

    /// Returns a characteristic whose requests the host answers.
    private func forward(
        _ characteristic: CharacteristicDefinition, _ attribute: ServedAttribute, _ context: PeripheralContext
    ) -> CharacteristicDefinition {
        // The closures do not capture `self` itself, so that a subscription reaches the host before it is answered.
        weak let backend = self
        return CharacteristicDefinition(
            characteristic.uuid, characteristic.properties, security: characteristic.security,
            descriptors: characteristic.descriptors.enumerated().map { position, descriptor in
                var place = attribute
                place.descriptor = position
                return DescriptorDefinition(
                    descriptor.uuid, isWritable: descriptor.isWritable,
                    onRead: { [place] (request) throws(ATTError) in
                        try await backend.answer(request) { () throws(ATTError) in
                            try await context.read(place, request)
                        }
                    },
                    onWrite: { [place] (value, request) throws(ATTError) in
                        try await backend.answer(request) { () throws(ATTError) in
                            try await context.write(place, value, request)
                        }
                    })
            },
            onRead: { (request) throws(ATTError) in
                // The radio returns only the requested part.
                var whole = request
                whole.offset = 0
                return try await backend.answer(request, of: attribute) { [whole] () throws(ATTError) in
                    try await context.read(attribute, whole)
                }
            },
            onWrite: { (value, request) throws(ATTError) in
                // The radio has joined the parts.
                var whole = request
                whole.offset = 0
                try await backend.answer(request, of: attribute) { [whole] () throws(ATTError) in
                    try await context.write(attribute, value, whole)
                }
            },
            onSubscribe: { notifier in
                guard let backend, let central = notifier.central else { return }
                // The radio calls this on its executor, so that the host's decision is the answer to the subscription.
                let subscription = backend.subscribeNow(attribute, central, notifier)
                do throws(BLEError) {
                    // Waits until the task is cancelled, or the host ends the subscription.
                    try await subscription.end.wait()
                } catch {
                    if let rejection = error.attError { throw rejection }
                    await backend.unsubscribed(attribute, central, subscription.number)
                }
            })
    }

    /// Lets the faults of a request happen before the host is asked. Returns whether the link is lost afterward.
    ///
    /// - Parameter attribute: the characteristic whose value it reads or writes. Nil for a descriptor.
    fileprivate func admitRequest(
        _ request: AttributeRequest, of attribute: ServedAttribute?
    ) async throws(ATTError) -> Bool {
        guard radio.isDisturbed.load(ordering: .relaxed), let id else { return false }
        do throws(BLEError) {
            return try await radio.admitRequest(
                of: request.central, over: request.link, at: id, handle: attribute.flatMap { handle(of: $0) })
        } catch {
            throw error.attError ?? .unlikelyError
        }
    }

    private func handle(of attribute: ServedAttribute) -> UInt16? {
        guard let id else { return nil }
        let earlier = applications.prefix { $0.number != attribute.application }.reduce(0) { $0 + $1.services.count }
        return radio.assumeIsolated {
            $0.peripherals[id]?.attributes.handle(
                ofCharacteristic: attribute.characteristic, inService: earlier + attribute.service)
        }
    }

    /// Loses the link that a request was on, after its answer.
    fileprivate func loseLink(of request: AttributeRequest) async {
        if let id { await radio.loseLink(of: request.central, over: request.link, at: id) }
    }

    /// Logs what the host does at trace level.
    private func trace(_ name: String, _ metadata: @autoclosure () -> Logger.Metadata) {
        guard radio.isTracing, let id else { return }
        radio.logger.trace(
            "simulated \(name)", metadata: metadata().merging(["peripheral": "\(id)"]) { old, _ in old })
    }

    /// Called on the radio's executor.
    private nonisolated func subscribeNow(
        _ attribute: ServedAttribute, _ central: DeviceID, _ notifier: Notifier
    ) -> HostedSubscription {
        assumeIsolated { $0.subscribed(attribute, central, notifier) }
    }

    /// Reports a subscription, which the host may end at once.
    private func subscribed(
        _ attribute: ServedAttribute, _ central: DeviceID, _ notifier: Notifier
    ) -> HostedSubscription {
        lastNumber += 1
        let subscription = HostedSubscription(number: lastNumber, notifier: notifier)
        notifiers[attribute, default: [:]][central] = subscription
        let mtu = id.flatMap { id in radio.assumeIsolated { $0.peripherals[id]?.attMTU } }
        context?.handleEvent(.subscribed(attribute, central: central, attMTU: mtu))
        return subscription
    }

    /// Ends a subscription whose handler has failed. If the radio has not accepted the subscription yet, it rejects it.
    public func endSubscription(to attribute: ServedAttribute, of central: DeviceID?, _ error: ATTError) {
        guard let central else { return }
        notifiers[attribute]?.removeValue(forKey: central)?.end.deliver(.failure(BLEError(error)))
    }

    /// Ends a subscription, unless the next one has replaced it.
    private func unsubscribed(_ attribute: ServedAttribute, _ central: DeviceID, _ number: Int) {
        guard notifiers[attribute]?[central]?.number == number else { return }
        notifiers[attribute]?[central] = nil
        context?.handleEvent(.unsubscribed(attribute, central: central))
    }

    private func services(of application: Int) -> [BluetoothUUID] {
        applications.filter { $0.number == application }.flatMap(\.services).map(\.uuid)
    }

    /// Removes the application's services from the peripheral.
    public func unregister(_ application: Int) async {
        guard applications.contains(where: { $0.number == application }) else { return }
        trace("unregister", ["services": "\(services(of: application))"])
        applications.removeAll { $0.number == application }
        updateServices()
    }

    /// Returns the subscriptions to a characteristic in their order, those of all centrals without one.
    private func subscriptions(to attribute: ServedAttribute, of central: DeviceID?) -> [HostedSubscription] {
        guard let all = notifiers[attribute] else { return [] }
        guard let central else { return all.values.sorted { $0.number < $1.number } }
        return all[central].map { [$0] } ?? []
    }

    /// Delivers a value to subscribers. To one central, an indication may wait until the central has confirmed the
    /// values before.
    public func notify(
        _ value: [UInt8], from attribute: ServedAttribute, to central: DeviceID?
    ) async throws(BLEError) {
        for notifier in subscriptions(to: attribute, of: central).map(\.notifier) {
            if central == nil, isUnconfirmed(by: notifier.central) {
                // A central that does not confirm holds up no other.
                Task.immediate { await notifier.notify(value) }
            } else {
                await notifier.notify(value)
            }
        }
    }

    /// Whether a central has yet to confirm an indication.
    private func isUnconfirmed(by central: DeviceID?) -> Bool {
        guard let id else { return false }
        return radio.assumeIsolated { radio in
            radio.peripherals[id]?.links.values.contains {
                $0.shared.isUnconfirmed && $0.shared.central == central
            } ?? false
        }
    }

    /// Delivers a value to subscribers, and waits until one of them has confirmed it, which they do at once. Throws the
    /// last error if none does.
    public func indicate(
        _ value: [UInt8], from attribute: ServedAttribute, to central: DeviceID?
    ) async throws(BLEError) {
        let notifiers = subscriptions(to: attribute, of: central).map(\.notifier)
        guard notifiers.count > 1 else {
            try await notifiers.first?.indicate(value)
            return
        }
        // All at once, in their order: a central that does not confirm holds up no other. The first confirmation ends
        // no other one.
        let first = Outcome<Void>()
        let confirmations = notifiers.map { notifier in
            Task(executorPreference: radio.tasks) { () async -> Result<Void, BLEError> in
                do throws(BLEError) {
                    try await notifier.indicate(value)
                    first.deliver(.success(()))
                    return .success(())
                } catch {
                    return .failure(error)
                }
            }
        }
        Task(executorPreference: radio.tasks) {
            var last = Result<Void, BLEError>.success(())
            for confirmation in confirmations { last = await confirmation.value }
            first.deliver(last)
        }
        do throws(BLEError) {
            try await first.wait()
        } catch {
            // Given up by the caller: nothing waits for a confirmation any longer.
            for confirmation in confirmations { confirmation.cancel() }
            throw error
        }
    }

    /// Ends the link of a central, as if the peripheral disconnected.
    public func disconnect(_ central: DeviceID) async throws(BLEError) {
        guard let id else { throw .shutDown }
        await radio.disconnectCentral(central, from: id)
    }

    // MARK: Channels

    /// Accepts channels in memory.
    public func publishChannel(
        _ psm: PSM?, _ options: ChannelOptions, as publication: Int,
        accept: @escaping @Sendable (any ChannelTransport, DeviceID, PSM) -> Void,
        onEnd: @escaping @Sendable (BLEError) -> Void
    ) async throws(BLEError) -> PSM {
        guard let id else { throw .shutDown }
        let chosen = try await radio.listen(psm, options, id) { accept($0, $1, $2) }
        publications[publication] = chosen
        return chosen
    }

    /// Stops accepting channels.
    public func unpublishChannel(_ publication: Int) async {
        guard let id, let psm = publications.removeValue(forKey: publication) else { return }
        await radio.stopListening(psm, id)
    }

    // MARK: Advertising

    /// The number of advertisements that a host can have, as with many controllers.
    static let advertisingSets = 4

    /// Adds the content to the peripheral's advertisement.
    public func startAdvertising(_ parameters: AdvertisingParameters, as advertising: Int) async throws(BLEError) {
        _ = try checkReady()
        trace("advertise", ["advertising": "\(advertising)"])
        _ = try await radio.admit(.advertise, at: id, nil)
        _ = try checkReady()
        guard advertisements.count < Self.advertisingSets else {
            throw BLEError(
                .busy, "no advertising set is free: \(Self.advertisingSets) are in use", isRetryable: true,
                remedy: "End another advertisement first.")
        }
        let end = parameters.duration.map { duration in
            Task.after(duration, clock: radio.clock, on: self, executor: radio.tasks) {
                await $0.advertisingExpired(advertising)
            }
        }
        advertisements.append((advertising, parameters, end))
        updateAdvertisement()
    }

    private func advertisingExpired(_ number: Int) async {
        guard advertisements.contains(where: { $0.number == number }) else { return }
        await stopAdvertising(number)
        context?.handleEvent(.advertisingEnded(number, nil))
    }

    /// Removes the content from the peripheral's advertisement.
    public func stopAdvertising(_ advertising: Int) async {
        guard let index = advertisements.firstIndex(where: { $0.number == advertising }) else { return }
        trace("stop advertising", ["advertising": "\(advertising)"])
        advertisements.remove(at: index).end?.cancel()
        updateAdvertisement()
    }

    private func updateAdvertisement() {
        guard let id else { return }
        let (advertisement, scanResponse) = (advertisement, scanResponse)
        radio.assumeIsolated { $0.setHostedAdvertisement(advertisement, scanResponse, id) }
    }

    /// What the radio's centrals receive: the content of all advertisements, at −50 dBm. Nil if there is none.
    private var advertisement: Advertisement? {
        guard !advertisements.isEmpty else { return nil }
        var all = Advertisement(rssi: -50, isConnectable: false)
        for (_, parameters, _) in advertisements {
            all.localName = all.localName ?? parameters.localName
            all.serviceUUIDs.formUnion(parameters.serviceUUIDs)
            all.solicitedServiceUUIDs.formUnion(parameters.solicitedServiceUUIDs)
            all.serviceData.merge(parameters.serviceData) { $1 }
            all.manufacturerData.merge(parameters.manufacturerData) { $1 }
            all.appearance = all.appearance ?? parameters.appearance
            if parameters.includesTxPower { all.txPower = parameters.txPower ?? all.txPower }
            if parameters.isConnectable { all.isConnectable = true }
            all.structures += parameters.structures
        }
        return all
    }

    /// What active scans receive besides.
    private var scanResponse: Advertisement {
        advertisements.reduce(into: Advertisement()) { all, advertisement in
            let response = advertisement.parameters.scanResponse
            all.serviceUUIDs.formUnion(response.serviceUUIDs)
            all.solicitedServiceUUIDs.formUnion(response.solicitedServiceUUIDs)
            all.serviceData.merge(response.serviceData) { $1 }
            all.manufacturerData.merge(response.manufacturerData) { $1 }
            all.structures += response.structures
        }
    }
}

extension SimulatedPeripheralBackend? {
    /// Has the host answer a request of a central, as the faults allow it.
    fileprivate func answer<Value: Sendable>(
        _ request: AttributeRequest, of attribute: ServedAttribute? = nil, _ host: () async throws(ATTError) -> Value
    ) async throws(ATTError) -> Value {
        guard let backend = self else { throw .unlikelyError }
        let losesLink = try await backend.admitRequest(request, of: attribute)
        let answer: Result<Value, ATTError>
        do throws(ATTError) { answer = .success(try await host()) } catch { answer = .failure(error) }
        if losesLink { await backend.loseLink(of: request) }
        return try answer.get()
    }
}

/// A central's subscription to a characteristic of a host.
private struct HostedSubscription: Sendable {
    let number: Int
    let notifier: Notifier
    /// Delivered when the host ends the subscription.
    let end = Outcome<Void>()
}
