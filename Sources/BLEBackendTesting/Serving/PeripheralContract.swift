import BLE
import Foundation
import Logging
public import Testing
internal import Waiting

/// The required behavior of every backend in the peripheral role, one check per case. A test target runs all checks
/// with its own ``PeripheralContractPeer``, which also provides the centrals.
public enum PeripheralContract: String, CaseIterable, Sendable, CustomTestStringConvertible {
    // Advertising
    case advertisedContentIsReceived
    case advertisingEndsWithItsTask
    case advertisingEndsAfterItsDuration
    case beaconsCannotBeConnectedTo
    case advertisementsThatDoNotFitAreRefused
    case advertisingSetsAreShared
    // Attributes
    case servicesAppearInTheirOrder
    case includedServicesAreServed
    case storedValuesAreReadAndWritten
    case requestsTellWhoAsks
    case requestsAreAuthorized
    case fixedHandlesAreUsed
    case rejectionsArriveAsTheirCodes
    case rejectedWritesChangeNothing
    case longValuesAreReadAsTheyWere
    case longValuesThatChangeAreReadAsTheyWere
    case longWritesArriveWhole
    case writesArriveInOrder
    case commandsArrive
    case descriptorsCanBeRead
    case slowHandlersAreRejected
    case reservedServicesAreRefused
    // Subscriptions
    case valuesArriveInOrder
    case subscribersAreToldApart
    case handlersRunWhileSubscribed
    case subscriptionsEndWithTheErrorOfTheirHandler
    case changedValuesAreSent
    case indicationsAreConfirmed
    case handlersIndicate
    case indicationsToOneAreConfirmed
    case valuesThatWouldBeCutAreRefused
    case controlPointsAnswer
    // Channels
    case channelsAreAccepted
    case channelsOfDefinitionsAreAccepted
    case channelsBeyondTheirLimitAreClosed
    case shutDownEndsChannels
    // Life
    case centralsAreReported
    case centralsCanBeDisconnected
    case servicesAreToldOfEndedLinks
    case definitionsAreServedTogether
    case servicesEndWithTheirTask
    case restartsOfBluetoothAreSurvived
    case subscriptionsEndWithBluetooth
    case adapterSwitchedOffIsSurvived
    case unpluggingIsSurvived
    case shutDownEndsWhatIsServed

    public var testDescription: String { rawValue }

    /// All checks, or those that the environment variable `BLE_PERIPHERAL_CONTRACT` names, separated by commas.
    public static var selected: [PeripheralContract] {
        guard let names = ProcessInfo.processInfo.environment["BLE_PERIPHERAL_CONTRACT"] else { return allCases }
        return names.split(separator: ",").compactMap { PeripheralContract(rawValue: String($0)) }
    }

    public func check(_ peer: some PeripheralContractPeer) async throws {
        try await peer.reset()
        let contract = ServingContract(peer: peer)
        switch self {
        case .advertisedContentIsReceived: try await contract.advertisedContent()
        case .advertisingEndsWithItsTask: try await contract.advertisingEnds()
        case .advertisingEndsAfterItsDuration: try await contract.advertisingExpires()
        case .beaconsCannotBeConnectedTo: try await contract.beacon()
        case .advertisementsThatDoNotFitAreRefused: try await contract.tooLongAdvertisement()
        case .advertisingSetsAreShared: try await contract.advertisingSets()
        case .servicesAppearInTheirOrder: try await contract.order()
        case .includedServicesAreServed: try await contract.includes()
        case .storedValuesAreReadAndWritten: try await contract.storedValues()
        case .requestsTellWhoAsks: try await contract.whoAsks()
        case .requestsAreAuthorized: try await contract.authorization()
        case .fixedHandlesAreUsed: try await contract.fixedHandles()
        case .rejectionsArriveAsTheirCodes: try await contract.rejections()
        case .rejectedWritesChangeNothing: try await contract.rejectedWrites()
        case .longValuesAreReadAsTheyWere: try await contract.longRead()
        case .longValuesThatChangeAreReadAsTheyWere: try await contract.changingLongRead()
        case .longWritesArriveWhole: try await contract.longWrite()
        case .writesArriveInOrder: try await contract.writeOrder()
        case .commandsArrive: try await contract.commands()
        case .descriptorsCanBeRead: try await contract.descriptors()
        case .slowHandlersAreRejected: try await contract.slowHandler()
        case .reservedServicesAreRefused: try await contract.reservedServices()
        case .valuesArriveInOrder: try await contract.values()
        case .subscribersAreToldApart: try await contract.subscribersApart()
        case .handlersRunWhileSubscribed: try await contract.subscriptionHandler()
        case .subscriptionsEndWithTheErrorOfTheirHandler: try await contract.failingHandler()
        case .changedValuesAreSent: try await contract.changedValues()
        case .indicationsAreConfirmed: try await contract.indications()
        case .handlersIndicate: try await contract.handlerIndications()
        case .indicationsToOneAreConfirmed: try await contract.indicationsToOne()
        case .valuesThatWouldBeCutAreRefused: try await contract.tooLongValues()
        case .controlPointsAnswer: try await contract.controlPoint()
        case .channelsAreAccepted: try await contract.publishedChannels()
        case .channelsOfDefinitionsAreAccepted: try await contract.definedChannels()
        case .channelsBeyondTheirLimitAreClosed: try await contract.limitedChannels()
        case .shutDownEndsChannels: try await contract.shutDownEndsChannels()
        case .centralsAreReported: try await contract.centrals()
        case .centralsCanBeDisconnected: try await contract.disconnection()
        case .servicesAreToldOfEndedLinks: try await contract.endedLinks()
        case .definitionsAreServedTogether: try await contract.together()
        case .servicesEndWithTheirTask: try await contract.servingEnds()
        case .restartsOfBluetoothAreSurvived: try await contract.restart()
        case .subscriptionsEndWithBluetooth: try await contract.subscriptionsAfterRestart()
        case .adapterSwitchedOffIsSurvived: try await contract.powerOff()
        case .unpluggingIsSurvived: try await contract.unplugging()
        case .shutDownEndsWhatIsServed: try await contract.shutDown()
        }
    }
}

/// The shared parts of the checks: a host, a central, and the definition that is served.
struct ServingContract: FailingWork {
    let peer: any PeripheralContractPeer

    static let service = BluetoothUUID(0xFFE0)
    static let plain = Characteristic<[UInt8]>(BluetoothUUID(0xFFE1), service: service)
    static let output = Characteristic<[UInt8]>(BluetoothUUID(0xFFE2), service: service)
    static let handled = Characteristic<[UInt8]>(BluetoothUUID(0xFFE3), service: service)

    static func advertisement(_ service: BluetoothUUID = service) -> Advertisement {
        Advertisement(serviceUUIDs: [service])
    }

    /// A definition with one characteristic.
    static func definition(_ characteristics: CharacteristicDefinition...) -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: advertisement(), services: [ServiceDefinition(service, characteristics: characteristics)])
    }

    static let readable = CharacteristicDefinition(plain.uuid, [.read, .write], value: [1, 2, 3])
    static let notifying = CharacteristicDefinition(output.uuid, [.read, .notify], value: [0])

    /// - Parameter configuration: by default, a configuration with the peer's deadlines.
    func withHost(
        _ configuration: PeripheralHost.Configuration? = nil, _ check: (PeripheralHost) async throws -> Void
    ) async throws {
        let host = try await peer.makeHost(configuration ?? .init(requestTimeout: peer.timeout))
        do {
            try await check(host)
            await host.shutDown()
        } catch {
            await host.shutDown()
            throw error
        }
    }

    func withCentral(_ check: (Central) async throws -> Void) async throws {
        let central = try await peer.makeCentral(
            Central.Configuration(
                connectTimeout: peer.timeout, operationTimeout: peer.timeout, logger: Logger(label: "contract")))
        do {
            try await check(central)
            await central.shutDown()
        } catch {
            await central.shutDown()
            throw error
        }
    }

    /// Serves a definition to a central that is connected to it.
    func withServed(
        _ definition: PeripheralDefinition,
        _ check: (PeripheralHost, ServedPeripheral, Peripheral) async throws -> Void
    ) async throws {
        try await withHost { host in
            try await host.withServed(definition) { served in
                try await withCentral { central in
                    let remote = try await find(central)
                    try await remote.connect()
                    try await check(host, served, remote)
                }
            }
        }
    }

    func find(_ central: Central, _ service: BluetoothUUID = service) async throws -> Peripheral {
        try await central.first(matching: .service(service), timeout: peer.timeout).peripheral
    }

    /// Waits for an event.
    func until(
        _ events: inout BoundedStream<PeripheralHostEvent>.Iterator, _ isWanted: (PeripheralHostEvent) -> Bool
    ) async throws {
        while let event = try await events.next() {
            if isWanted(event) { return }
        }
    }
}

/// A value that handlers change and checks observe.
actor Noted<Value: Sendable> {
    private(set) var value: Value
    private var waiters: [(isWanted: @Sendable (Value) -> Bool, outcome: Outcome<Void>)] = []

    init(_ value: Value) { self.value = value }

    func change(_ body: @Sendable (inout Value) -> Void) {
        body(&value)
        for waiter in waiters where waiter.isWanted(value) { waiter.outcome.deliver(.success(())) }
        waiters.removeAll { $0.isWanted(value) }
    }

    func until(_ isWanted: @escaping @Sendable (Value) -> Bool) async throws {
        guard !isWanted(value) else { return }
        let outcome = Outcome<Void>()
        waiters.append((isWanted, outcome))
        try await outcome.wait()
    }
}
