import BLEDefinitions
import BLESimulation
import Testing

@testable import BLECommand

/// The decisions of one gateway, whose broker is the test.
struct FleetTests {
    private static let device = "c47c8d000001"
    private var fleet = Fleet("kitchen")

    private mutating func hear(_ strength: Int, at seconds: Double, isPinned: Bool = false) {
        fleet.hear(Self.device, strength: strength, isPinned: isPinned, at: .seconds(seconds))
        if fleet.follows(Self.device, at: .seconds(seconds)) == true {
            fleet.listens(to: Self.device, at: .seconds(seconds))
        }
    }

    private mutating func told(_ seconds: Double) -> Fleet.Sighting? {
        fleet.dueSighting(Self.device, at: .seconds(seconds))
    }

    private mutating func claims(_ seconds: Double) -> Bool {
        _ = told(seconds)
        return fleet.claims(Self.device, at: .seconds(seconds))
    }

    private mutating func setOwner(_ owner: String, at seconds: Double = 0) {
        fleet.setOwner(owner, of: Self.device, at: .seconds(seconds))
    }

    private mutating func setOnline(_ isOnline: Bool, _ other: String, at seconds: Double = 0) {
        fleet.setOnline(isOnline, other, at: .seconds(seconds))
    }

    private mutating func take(_ sighting: Fleet.Sighting, from other: String, at seconds: Double) {
        fleet.take(sighting, of: Self.device, from: other, at: .seconds(seconds))
    }

    private mutating func connect(_ others: String...) {
        fleet.setConnected(true, at: .zero)
        fleet.listens(at: .zero)
        for other in others { setOnline(true, other) }
    }

    /// A gateway that has heard the device for 10 s, and another one that owns it.
    private mutating func begin(_ strength: Int, owner: Fleet.Sighting) {
        connect("attic", "porch")
        setOwner("attic")
        for second in 1...10 {
            hear(strength, at: Double(second))
            take(owner, from: "attic", at: Double(second))
        }
    }

    @Test mutating func `nothing is claimed before the broker tells of others`() {
        fleet.setConnected(true, at: .zero)
        for second in 1...20 {
            fleet.hear(Self.device, strength: -60, isPinned: false, at: .seconds(second))
            _ = fleet.follows(Self.device, at: .seconds(second))
            if second == 10 { fleet.listens(at: .seconds(second)) }
            if second == 15 { fleet.listens(to: Self.device, at: .seconds(second)) }
            #expect(claims(Double(second)) == (second == 17))
        }
    }

    @Test mutating func `a device that nobody has is claimed once, and published when the broker returns the claim`() {
        connect()
        hear(-60, at: 1)
        #expect(told(1) == Fleet.Sighting(strength: -60))
        #expect(told(1.5) == nil)
        #expect(!claims(2.9))
        #expect(claims(3))
        #expect(!claims(3.1))
        #expect(!fleet.publishes(Self.device))
        setOwner("kitchen", at: 4)
        #expect(fleet.publishes(Self.device))
        #expect(!claims(4))
    }

    @Test mutating func `of two gateways, the one that hears a new device better claims it`() {
        connect("attic")
        hear(-60, at: 1)
        take(Fleet.Sighting(strength: -59), from: "attic", at: 2)
        #expect(!claims(5))
        take(Fleet.Sighting(strength: -61), from: "attic", at: 6)
        #expect(claims(6))
    }

    @Test mutating func `of two that hear it alike, the first by name claims it`() {
        connect("attic", "porch")
        hear(-60, at: 1)
        take(Fleet.Sighting(strength: -60), from: "attic", at: 2)
        #expect(!claims(5))
        setOnline(false, "attic", at: 0)
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

    @Test mutating func `a device of a gateway that is gone for 5 s is claimed, however badly it is heard`() {
        begin(-95, owner: Fleet.Sighting(strength: -40))
        setOnline(false, "attic", at: 10)
        #expect(!claims(14.9))
        #expect(claims(15))
    }

    @Test mutating func `a gateway that is back within 5 s keeps its devices`() {
        begin(-95, owner: Fleet.Sighting(strength: -40))
        setOnline(false, "attic", at: 10)
        #expect(!claims(12))
        setOnline(true, "attic", at: 13)
        #expect(!claims(16))
    }

    @Test mutating func `after a restart of the broker, an owner is expected for 35 s`() {
        connect()
        setOwner("attic")
        for second in 1...40 {
            hear(-60, at: Double(second))
            #expect(claims(Double(second)) == (second == 35))
        }
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
        setOnline(false, "attic", at: 10)
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

    @Test mutating func `of more gateways than may hear a device, the best 64 and the owner count`() {
        connect("attic", "porch")
        hear(-60, at: 1)
        for number in 0..<1000 { take(Fleet.Sighting(strength: -90), from: "zzz \(number)", at: 2) }
        take(Fleet.Sighting(strength: -95), from: "porch", at: 3)
        #expect(claims(5))
        // One that is stronger than the weakest counts, and so does the owner.
        take(Fleet.Sighting(strength: -30), from: "attic", at: 20)
        hear(-60, at: 20)
        #expect(!claims(20))
        setOwner("porch", at: 20)
        take(Fleet.Sighting(strength: -62), from: "porch", at: 20)
        for number in 0..<1000 { take(Fleet.Sighting(strength: -40), from: "yyy \(number)", at: 21) }
        #expect(!claims(21))
    }

    @Test mutating func `a pinned gateway has the device, however badly it hears it`() {
        begin(-60, owner: Fleet.Sighting(strength: -90, isPinned: true))
        #expect(!claims(10))
        #expect(!claims(25))
        var other = FleetTests()
        other.connect("attic")
        other.setOwner("attic")
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

    @Test mutating func `a bond that is known before the device is heard counts`() {
        connect("attic")
        fleet.setBonded(true, Self.device)
        hear(-90, at: 1)
        take(Fleet.Sighting(strength: -30), from: "attic", at: 1)
        #expect(claims(4))
    }

    @Test mutating func `of two claims that cross, the last one in the broker's order counts for both`() {
        var other = Fleet("attic")
        fleet.setConnected(true, at: .zero)
        other.setConnected(true, at: .zero)
        for id in ["attic", "kitchen"] {
            setOwner(id)
            other.setOwner(id, of: Self.device, at: .zero)
        }
        #expect(fleet.publishes(Self.device))
        #expect(!other.publishes(Self.device))
    }

    @Test mutating func `without a broker, nothing is published, and a link lasts a minute`() {
        connect()
        hear(-60, at: 1)
        setOwner("kitchen")
        #expect(fleet.mayLink(Self.device, at: .seconds(2)))
        fleet.setConnected(false, at: .seconds(10))
        #expect(!fleet.publishes(Self.device))
        #expect(fleet.mayLink(Self.device, at: .seconds(69)))
        #expect(!fleet.mayLink(Self.device, at: .seconds(70)))
        // A connection that ends at once changes nothing.
        fleet.setConnected(true, at: .seconds(30))
        fleet.setConnected(false, at: .seconds(31))
        #expect(fleet.mayLink(Self.device, at: .seconds(60)))
        // The link remains with the connection, until the broker tells of another owner.
        fleet.setConnected(true, at: .seconds(60))
        #expect(!fleet.publishes(Self.device))
        #expect(fleet.mayLink(Self.device, at: .seconds(100)))
        setOwner("attic", at: 100)
        #expect(!fleet.mayLink(Self.device, at: .seconds(100)))
        #expect(!fleet.publishes(Self.device))
    }

    @Test mutating func `no link begins after a long time without a broker`() {
        connect()
        hear(-60, at: 1)
        setOwner("kitchen")
        fleet.setConnected(false, at: .seconds(10))
        fleet.setConnected(true, at: .seconds(100))
        #expect(!fleet.mayLink(Self.device, at: .seconds(100)))
    }

    @Test mutating func `a gateway with a link takes a device back that another one has claimed`() {
        connect("attic")
        hear(-60, at: 1)
        setOwner("kitchen")
        fleet.setLinked(true, Self.device, at: .seconds(2))
        setOwner("attic", at: 20)
        take(Fleet.Sighting(strength: -30), from: "attic", at: 20)
        #expect(fleet.mayLink(Self.device, at: .seconds(20)))
        #expect(!claims(20))
        #expect(claims(30))
        setOwner("kitchen", at: 30)
        #expect(fleet.mayLink(Self.device, at: .seconds(50)))
        // Not from one that is pinned.
        setOwner("attic", at: 60)
        take(Fleet.Sighting(strength: -30, isPinned: true), from: "attic", at: 60)
        #expect(!claims(60))
        #expect(!claims(74))
        #expect(!fleet.mayLink(Self.device, at: .seconds(75)))
    }

    @Test mutating func `a sighting is told again when the strength has changed, and after 15 s`() {
        fleet.setConnected(true, at: .zero)
        hear(-60, at: 1)
        #expect(told(1)?.strength == -60)
        // From the tenth second on, the smoothed strength falls, more and more slowly.
        let dues = (2...20).filter { second in
            hear(second < 10 ? -60 : -90, at: Double(second))
            return told(Double(second)) != nil
        }
        #expect(dues.first == 10)
        #expect(3...5 ~= dues.count)
        #expect(zip(dues, dues.dropFirst()).allSatisfy { $1 - $0 >= 2 })
        for second in 21...200 {
            hear(-90, at: Double(second))
            _ = told(Double(second))
        }
        // What is not heard again is told at most once more.
        #expect((201...300).count { told(Double($0)) != nil } <= 1)
    }

    @Test mutating func `commands are performed by the owner, and without one by the first gateway by name`() {
        func performs(_ seconds: Double = 10) -> Bool {
            fleet.performsCommands(Self.device, isListed: true, at: .seconds(seconds))
        }
        #expect(!performs())
        connect()
        // The owner is not known yet.
        #expect(!performs(2.9))
        #expect(performs(3))
        setOnline(true, "attic")
        #expect(!performs())
        setOwner("kitchen")
        #expect(performs())
        setOwner("porch")
        #expect(!performs())
        setOnline(false, "attic", at: 1)
        #expect(performs())
        setOnline(true, "porch")
        #expect(!performs())
        // The owner of a device that is neither listed nor heard is not known.
        setOnline(false, "porch", at: 1)
        #expect(performs())
        #expect(!fleet.performsCommands(Self.device, isListed: false, at: .seconds(10)))
    }

    @Test mutating func `a gateway that was offline before this one came is not waited for`() {
        connect()
        setOwner("attic")
        setOnline(false, "attic", at: 0.5)
        for second in 1...10 {
            hear(-60, at: Double(second))
            #expect(claims(Double(second)) == (second == 3))
        }
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

    // MARK: Two gateways

    /// Two gateways and a broker that delivers at once. Returns the owners, second by second.
    ///
    /// - Parameter strengths: how the two hear the device in a second. Nil if one does not.
    private static func owners(seconds: Int, _ strengths: (Int) -> (Int?, Int?)) -> [String?] {
        var fleets = [Fleet("attic"), Fleet("kitchen")]
        for (index, other) in [(0, "kitchen"), (1, "attic")] {
            fleets[index].setConnected(true, at: .zero)
            fleets[index].listens(at: .zero)
            fleets[index].setOnline(true, other, at: .zero)
        }
        var owner: String?
        return (1...seconds).map { second in
            let now = Duration.seconds(second)
            let heard = strengths(second)
            for (index, strength) in [heard.0, heard.1].enumerated() {
                if let strength { fleets[index].hear(device, strength: strength, isPinned: false, at: now) }
                if fleets[index].follows(device, at: now) == true { fleets[index].listens(to: device, at: now) }
            }
            for (index, name) in [(0, "attic"), (1, "kitchen")] {
                if let sighting = fleets[index].dueSighting(device, at: now) {
                    fleets[1 - index].take(sighting, of: device, from: name, at: now)
                }
                if fleets[index].claims(device, at: now) {
                    owner = name
                    for each in fleets.indices { fleets[each].setOwner(name, of: device, at: now) }
                }
            }
            return owner
        }
    }

    @Test func `a device that its owner no longer hears moves within a minute`() {
        let owners = Self.owners(seconds: 200) { ($0 <= 60 ? -50 : nil, -80) }
        #expect(owners[58] == "attic")
        let taken = owners.firstIndex(of: "kitchen") ?? 0
        #expect(100...115 ~= taken)
        #expect(owners.last == "kitchen")
    }

    /// A sensor that sends once in so many seconds, of which each gateway misses every third.
    @Test(arguments: [30, 40, 60, 600])
    func `a sensor that sends rarely does not move because an advertisement was missed`(interval: Int) {
        let owners = Self.owners(seconds: interval * 60) { second in
            guard second % interval == 0 else { return (nil, nil) }
            let number = second / interval
            return (number % 3 == 0 ? nil : -60, number % 3 == 1 ? nil : -60)
        }
        let known = owners.dropFirst(interval * 10)
        #expect(Set(known).count == 1)
        #expect(known.last != .some(nil))
    }

    @Test func `a device between two gateways moves seldom`() {
        var random = SeededGenerator(seed: 1)
        let owners = Self.owners(seconds: 3600) { _ in
            (Int.random(in: -66 ... -54, using: &random), Int.random(in: -66 ... -54, using: &random))
        }
        #expect(zip(owners, owners.dropFirst()).count { $0 != $1 } <= 1)
    }
}
