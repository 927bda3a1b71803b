import Testing

@testable import BLECommand

/// The decisions of one gateway, whose broker is the test.
struct FleetTests {
    private static let device = "c47c8d000001"
    private var fleet = Fleet("kitchen")

    private mutating func hear(_ strength: Int, at seconds: Double, isPinned: Bool = false) {
        _ = fleet.hear(Self.device, strength: strength, isPinned: isPinned, at: .seconds(seconds))
    }

    private mutating func told(_ seconds: Double) -> Fleet.Sighting? {
        fleet.dueSighting(Self.device, at: .seconds(seconds))
    }

    private mutating func claims(_ seconds: Double) -> Bool { fleet.claims(Self.device, at: .seconds(seconds)) }

    private mutating func take(_ sighting: Fleet.Sighting, from other: String, at seconds: Double) {
        fleet.setOnline(true, other)
        fleet.take(sighting, of: Self.device, from: other, at: .seconds(seconds))
    }

    /// A gateway that has heard the device for 10 s, and another one that owns it.
    private mutating func begin(_ strength: Int, owner: Fleet.Sighting) {
        fleet.setConnected(true, at: .zero)
        fleet.setOwner("attic", of: Self.device)
        for second in 1...10 {
            hear(strength, at: Double(second))
            take(owner, from: "attic", at: Double(second))
        }
    }

    @Test mutating func `a device that nobody has is claimed once, and published when the broker returns the claim`() {
        fleet.setConnected(true, at: .zero)
        hear(-60, at: 1)
        #expect(told(1) == Fleet.Sighting(strength: -60))
        #expect(told(1.5) == nil)
        #expect(!claims(2.9))
        #expect(claims(3))
        #expect(!claims(3.1))
        #expect(!fleet.publishes(Self.device))
        fleet.setOwner("kitchen", of: Self.device)
        #expect(fleet.publishes(Self.device))
        #expect(!claims(4))
    }

    @Test mutating func `of two gateways, the one that hears a new device better claims it`() {
        fleet.setConnected(true, at: .zero)
        hear(-60, at: 1)
        take(Fleet.Sighting(strength: -59), from: "attic", at: 2)
        #expect(!claims(5))
        take(Fleet.Sighting(strength: -61), from: "attic", at: 6)
        #expect(claims(6))
    }

    @Test mutating func `of two that hear it alike, the first by name claims it`() {
        fleet.setConnected(true, at: .zero)
        hear(-60, at: 1)
        take(Fleet.Sighting(strength: -60), from: "attic", at: 2)
        #expect(!claims(5))
        fleet.setOnline(false, "attic")
        take(Fleet.Sighting(strength: -60), from: "porch", at: 6)
        #expect(claims(6))
    }

    @Test(arguments: [(-70, 5, false), (-70, 6, true)])
    mutating func `an owner is replaced by one that hears the device 6 dB better for 10 s`(
        strength: Int, better: Int, isReplaced: Bool
    ) {
        begin(strength + better, owner: Fleet.Sighting(strength: strength))
        #expect(!claims(10))
        #expect(!claims(19.9))
        #expect(claims(20) == isReplaced)
    }

    @Test mutating func `an owner that is as good again in between keeps the device`() {
        begin(-60, owner: Fleet.Sighting(strength: -70))
        #expect(!claims(10))
        take(Fleet.Sighting(strength: -62), from: "attic", at: 15)
        #expect(!claims(15))
        take(Fleet.Sighting(strength: -70), from: "attic", at: 16)
        #expect(!claims(20))
        #expect(!claims(25.9))
        hear(-60, at: 26)
        #expect(!claims(29.9))
        #expect(claims(30))
    }

    @Test mutating func `a third one that hears it best has the owner to replace`() {
        begin(-60, owner: Fleet.Sighting(strength: -70))
        take(Fleet.Sighting(strength: -55), from: "porch", at: 10)
        #expect(!claims(10))
        #expect(!claims(20))
    }

    @Test mutating func `a device of a gateway that is gone is claimed at once, however badly it is heard`() {
        begin(-95, owner: Fleet.Sighting(strength: -40))
        #expect(!claims(10))
        fleet.setOnline(false, "attic")
        #expect(claims(10))
    }

    @Test mutating func `a device that its owner no longer hears is claimed`() {
        begin(-95, owner: Fleet.Sighting(strength: -40))
        for second in 11...55 {
            hear(-95, at: Double(second))
            #expect(claims(Double(second)) == (second == 55))
        }
    }

    @Test mutating func `a gateway that has heard a device only once does not claim it long after`() {
        begin(-95, owner: Fleet.Sighting(strength: -40))
        fleet.setOnline(false, "attic")
        #expect(!claims(60))
    }

    @Test mutating func `a device that was away is not claimed before others can tell that they hear it, too`() {
        begin(-95, owner: Fleet.Sighting(strength: -40))
        hear(-95, at: 600)
        #expect(!claims(600))
        take(Fleet.Sighting(strength: -40), from: "attic", at: 600.5)
        for second in 601...620 {
            hear(-95, at: Double(second))
            #expect(!claims(Double(second)))
        }
    }

    @Test mutating func `of more gateways than may hear a device, the first 64 count`() {
        fleet.setConnected(true, at: .zero)
        hear(-60, at: 1)
        for number in 0..<1000 { take(Fleet.Sighting(strength: -90), from: "zzz \(number)", at: 2) }
        take(Fleet.Sighting(strength: -30), from: "attic", at: 3)
        #expect(claims(5))
    }

    @Test mutating func `a pinned gateway has the device, however badly it hears it`() {
        begin(-60, owner: Fleet.Sighting(strength: -90, isPinned: true))
        #expect(!claims(10))
        #expect(!claims(25))
        var other = FleetTests()
        other.fleet.setConnected(true, at: .zero)
        other.fleet.setOwner("attic", of: Self.device)
        for second in 1...20 {
            other.hear(-90, at: Double(second), isPinned: true)
            other.take(Fleet.Sighting(strength: -50, isBonded: true), from: "attic", at: Double(second))
            #expect(other.claims(Double(second)) == (second == 13))
        }
    }

    @Test mutating func `a link keeps a device, and a bond prefers a gateway`() {
        begin(-40, owner: Fleet.Sighting(strength: -90, isLinked: true))
        #expect(!claims(10))
        #expect(!claims(20))
        fleet.setBonded(true, Self.device)
        take(Fleet.Sighting(strength: -30), from: "attic", at: 20)
        hear(-40, at: 20)
        #expect(!claims(20))
        #expect(claims(30))
    }

    @Test mutating func `of two claims that cross, the last one in the broker's order counts for both`() {
        var other = Fleet("attic")
        for id in ["kitchen", "attic"] {
            fleet.setOwner(id, of: Self.device)
            other.setOwner(id, of: Self.device)
        }
        fleet.setConnected(true, at: .zero)
        other.setConnected(true, at: .zero)
        for id in ["attic", "kitchen"] {
            fleet.setOwner(id, of: Self.device)
            other.setOwner(id, of: Self.device)
        }
        #expect(fleet.publishes(Self.device))
        #expect(!other.publishes(Self.device))
    }

    @Test mutating func `without a broker, nothing is published, and a link lasts a minute`() {
        fleet.setConnected(true, at: .zero)
        hear(-60, at: 1)
        fleet.setOwner("kitchen", of: Self.device)
        #expect(fleet.mayLink(Self.device, at: .seconds(2)))
        fleet.setConnected(false, at: .seconds(10))
        #expect(!fleet.publishes(Self.device))
        #expect(fleet.mayLink(Self.device, at: .seconds(69)))
        #expect(!fleet.mayLink(Self.device, at: .seconds(70)))
        // The link remains with the connection, until the broker tells of another owner.
        fleet.setConnected(true, at: .seconds(30))
        #expect(!fleet.publishes(Self.device))
        #expect(fleet.mayLink(Self.device, at: .seconds(100)))
        fleet.setOwner("attic", of: Self.device)
        #expect(!fleet.mayLink(Self.device, at: .seconds(100)))
        #expect(!fleet.publishes(Self.device))
    }

    @Test mutating func `a sighting is told again when the strength has changed, and after 15 s`() {
        fleet.setConnected(true, at: .zero)
        hear(-60, at: 1)
        #expect(told(1)?.strength == -60)
        for second in 2...20 {
            hear(second < 10 ? -60 : -90, at: Double(second))
            let isDue = told(Double(second)) != nil
            // From the tenth second on, the smoothed strength falls by 4 dB and more in 2 s.
            #expect(isDue == [10, 12, 14, 16, 18, 20].contains(second), "\(second)")
        }
        for second in 21...200 {
            hear(-90, at: Double(second))
            _ = told(Double(second))
        }
        #expect((201...215).count { told(Double($0)) != nil } == 1)
        // The gateway does not hear it any longer.
        #expect(told(300) == nil)
    }

    @Test mutating func `commands are performed by the owner, and without one by the first gateway by name`() {
        fleet.setConnected(true, at: .zero)
        #expect(fleet.performsCommands(Self.device))
        fleet.setOnline(true, "attic")
        #expect(!fleet.performsCommands(Self.device))
        fleet.setOwner("kitchen", of: Self.device)
        #expect(fleet.performsCommands(Self.device))
        fleet.setOwner("porch", of: Self.device)
        #expect(!fleet.performsCommands(Self.device))
        fleet.setOnline(false, "attic")
        #expect(fleet.performsCommands(Self.device))
        fleet.setOnline(true, "porch")
        #expect(!fleet.performsCommands(Self.device))
    }

    @Test(arguments: [
        "", "{", "[]", #"{"rssi":-60}"#, #"{"interval":1}"#, #"{"rssi":-200,"interval":1}"#,
        #"{"rssi":-60,"interval":-1}"#, #"{"rssi":-60,"interval":3601}"#, #"{"rssi":-60.5,"interval":1}"#,
        #"{"rssi":"-60","interval":1}"#,
        #"{"rssi":-60,"interval":1,"x":""# + String(repeating: "a", count: 200) + "\"}",
    ])
    func `what is no sighting is none`(text: String) {
        #expect(Fleet.Sighting(Array(text.utf8)) == nil)
    }

    @Test func `a sighting is read as it was told`() {
        for sighting in [
            Fleet.Sighting(strength: -60), Fleet.Sighting(strength: 4, interval: 3600, isPinned: true),
            Fleet.Sighting(strength: -127, interval: 1, isBonded: true, isLinked: true),
        ] {
            #expect(Fleet.Sighting(Array(sighting.json.text.utf8)) == sighting)
        }
    }
}
