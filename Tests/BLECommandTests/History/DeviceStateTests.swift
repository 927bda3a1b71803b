import BLE
import BLEBTHome
import Testing

@testable import BLECommand

/// What a table of devices hands to a history.
struct DeviceStateTests {
    private let id = Peripheral.ID(rawValue: "C4:7C:8D:00:00:01")
    private let entry = ListedDevice(key: "freezer", name: "Freezer", match: .company(1))
    private var table = DeviceTable(GatewayTopics(GatewayConfiguration(id: "kitchen")))

    private mutating func hear(_ celsius: Double, rssi: Int? = -60, at seconds: Double) throws -> [DeviceState] {
        var advertisement = Advertisement(rssi: rssi)
        try BTHome([BTHomeObject(try #require(BTHomeKind(id: 2)), value: celsius)]).encode(into: &advertisement)
        _ = table.hear(id, entry, advertisement, at: .seconds(seconds))
        return table.takeConsequences().states
    }

    @Test mutating func `each published state is handed over, with the signal strength`() throws {
        let states = try hear(-18.5, at: 0)
        #expect(states.map(\.device) == ["c47c8d000001"])
        #expect(states.map(\.entry) == ["freezer"])
        #expect(states.map(\.name) == ["Freezer"])
        #expect(states.first?.fields["temperature"]?.value == .number(-18.5))
        #expect(states.first?.fields["temperature"]?.unit == "°C")
        #expect(states.map(\.rssi) == [-60])
        #expect(try hear(-18.4, at: 0.5).isEmpty)
        _ = table.pass(to: .seconds(1))
        #expect(table.takeConsequences().states.compactMap { $0.fields["temperature"]?.value } == [.number(-18.4)])
    }

    @Test mutating func `a state that is repeated has no signal strength, unless the device was heard again`() throws {
        _ = try hear(4, at: 0)
        _ = table.pass(to: .seconds(60))
        #expect(table.takeConsequences().states.map(\.rssi) == [nil])
        _ = try hear(4, rssi: -70, at: 90)
        _ = table.pass(to: .seconds(120))
        #expect(table.takeConsequences().states.map(\.rssi) == [-70])
    }

    @Test mutating func `a device that is away has no states`() throws {
        _ = try hear(4, at: 0)
        _ = table.pass(to: .seconds(300))
        _ = table.takeConsequences()
        _ = table.pass(to: .seconds(600))
        #expect(table.takeConsequences().states.isEmpty)
    }

    @Test mutating func `the values of a link have no signal strength`() throws {
        _ = try hear(4, at: 0)
        _ = table.setConnected(true, id, entry, at: .seconds(10))
        _ = table.takeConsequences()
        let field = SensorReading(name: "battery level", value: .number(90), unit: "%")
        _ = table.take([field], from: id, entry, at: .seconds(20))
        let states = table.takeConsequences().states
        #expect(states.map(\.rssi) == [nil])
        #expect(states.first?.fields["battery_level"]?.value == .number(90))
    }
}
