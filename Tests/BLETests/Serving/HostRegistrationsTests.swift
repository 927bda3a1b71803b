import Testing
import Waiting

@testable import BLE

/// What a host asks the stack for again.
final class HostRegistrationsTests {
    private var registrations = HostRegistrations()
    private let definition = PeripheralDefinition(
        advertisement: Advertisement(), services: [ServiceDefinition(BluetoothUUID(0x180F), characteristics: [])])
    private let parameters = AdvertisingParameters(localName: "a")

    /// What is lost, in a word.
    private func lost(_ number: Int) -> String {
        switch (registrations.lostDefinition(number) != nil, registrations.lostAdvertising(number) != nil) {
        case (false, false): "nothing"
        case (true, false): "services"
        case (false, true): "advertising"
        case (true, true): "both"
        }
    }

    private func apply<Value>(_ change: (inout HostRegistrations) -> Value) -> Value { change(&registrations) }

    private func beginServing(_ number: Int) {
        registrations.serve(definition, as: number)
        #expect(apply { $0.servicesBegan(number) })
        registrations.advertise(parameters, as: number)
        #expect(apply { $0.advertisingBegan(number) })
    }

    @Test func `services that were lost are asked for first, and then their advertising`() {
        beginServing(1)
        #expect(lost(1) == "nothing")
        #expect(apply { $0.loseAdvertising(1) })
        #expect(lost(1) == "advertising")
        #expect(apply { $0.servicesEnded(1) })
        #expect(lost(1) == "services")
        // Each loss is told once.
        #expect(!apply { $0.loseAdvertising(1) })
        #expect(!apply { $0.servicesEnded(1) })
        #expect(apply { $0.servicesBegan(1) })
        #expect(lost(1) == "advertising")
        #expect(apply { $0.advertisingBegan(1) })
        #expect(lost(1) == "nothing")
    }

    @Test func `what the stack has never had is not asked for again`() {
        registrations.serve(definition, as: 1)
        registrations.advertise(parameters, as: 1)
        #expect(!apply { $0.servicesEnded(1) })
        #expect(!apply { $0.loseAdvertising(1) })
        #expect(lost(1) == "nothing")
        let end = registrations.advertisingEnded(1, isLoss: true)
        #expect(end?.isOver == true)
        #expect(end?.wasActive == false)
        #expect(!apply { $0.advertisingBegan(1) })
    }

    @Test func `advertising whose time is over ends the call that only advertises, and serving goes on`() async throws {
        beginServing(1)
        let server = registrations.user(of: 1)
        registrations.advertise(parameters, as: 2)
        #expect(apply { $0.advertisingBegan(2) })
        let advertiser = registrations.user(of: 2)
        let end = registrations.advertisingEnded(2, isLoss: false)
        #expect(end?.isOver == true)
        #expect(end?.user === advertiser)
        #expect(apply { $0.advertisingEnded(1, isLoss: false) }?.user == nil)
        #expect(server.isOpen)
        #expect(!registrations.isAdvertised(1))
        #expect(registrations.definition(1) != nil)
        #expect(apply { $0.advertisingEnded(1, isLoss: false) } == nil)
    }

    @Test func `what is removed is neither lost nor begun`() {
        beginServing(1)
        beginServing(2)
        #expect(apply { $0.remove(1) })
        #expect(!apply { $0.remove(1) })
        #expect(!apply { $0.servicesBegan(1) })
        #expect(!apply { $0.advertisingBegan(1) })
        #expect(registrations.numbers == [2])
        #expect(registrations.definitions.count == 1)
        // Advertising that could not be started leaves its definition, and nothing without one.
        registrations.removeAdvertising(2)
        #expect(registrations.definition(2) != nil)
        registrations.advertise(parameters, as: 3)
        registrations.removeAdvertising(3)
        #expect(registrations.numbers == [2])
    }
}
