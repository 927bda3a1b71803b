internal import BLE

extension GlucoseMeasurementContext {
    /// What was eaten or drunk.
    public struct Carbohydrates: Hashable, Sendable {
        /// At which meal.
        public var source: CarbohydrateSource
        /// The carbohydrates in kg, as they were sent.
        public var kilograms: MedFloat16

        /// Carbohydrates.
        public init(_ source: CarbohydrateSource, kilograms: MedFloat16) {
            self.source = source
            self.kilograms = kilograms
        }

        init(from reader: inout ValueReader) throws(BLEError) {
            source = try reader.raw()
            kilograms = try reader.medFloat16()
        }

        func encode(into writer: inout ValueWriter) {
            writer.raw(source)
            writer.raw(kilograms)
        }
    }

    /// At which meal something was eaten. Other numbers are reserved.
    public struct CarbohydrateSource: RawRepresentable, Hashable, Sendable {
        /// The number.
        public let rawValue: UInt8
        /// Any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Breakfast.
        public static let breakfast = CarbohydrateSource(rawValue: 1)
        /// Lunch.
        public static let lunch = CarbohydrateSource(rawValue: 2)
        /// Dinner.
        public static let dinner = CarbohydrateSource(rawValue: 3)
        /// A snack.
        public static let snack = CarbohydrateSource(rawValue: 4)
        /// A drink.
        public static let drink = CarbohydrateSource(rawValue: 5)
        /// Supper.
        public static let supper = CarbohydrateSource(rawValue: 6)
        /// Brunch.
        public static let brunch = CarbohydrateSource(rawValue: 7)
    }

    /// How a measurement and a meal lie in time. Other numbers are reserved.
    public struct Meal: RawRepresentable, Hashable, Sendable {
        /// The number.
        public let rawValue: UInt8
        /// Any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Before a meal.
        public static let preprandial = Meal(rawValue: 1)
        /// After a meal.
        public static let postprandial = Meal(rawValue: 2)
        /// Without a meal for long.
        public static let fasting = Meal(rawValue: 3)
        /// At no particular time: snacks, drinks.
        public static let casual = Meal(rawValue: 4)
        /// Before going to bed.
        public static let bedtime = Meal(rawValue: 5)
    }

    /// Who measured whom.
    public struct Examination: Hashable, Sendable {
        /// Who measured.
        public var tester: Tester
        /// How the person was.
        public var health: Health

        /// An examination.
        public init(tester: Tester = .notAvailable, health: Health = .notAvailable) {
            self.tester = tester
            self.health = health
        }

        init(from reader: inout ValueReader) throws(BLEError) {
            let both = try reader.uint8()
            tester = Tester(rawValue: both & 0x0F)
            health = Health(rawValue: both >> 4)
        }

        func encode(into writer: inout ValueWriter) throws(BLEError) {
            guard tester.rawValue < 16, health.rawValue < 16 else {
                throw BLEError(.invalidValue, "tester and health are numbers up to 15")
            }
            writer.uint8(tester.rawValue | health.rawValue << 4)
        }
    }

    /// Who measured. Other numbers are reserved.
    public struct Tester: RawRepresentable, Hashable, Sendable {
        /// The number, of which the lower four bits are sent.
        public let rawValue: UInt8
        /// Any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The person.
        public static let oneself = Tester(rawValue: 1)
        /// A professional.
        public static let healthCareProfessional = Tester(rawValue: 2)
        /// A laboratory.
        public static let laboratory = Tester(rawValue: 3)
        /// Nobody says.
        public static let notAvailable = Tester(rawValue: 15)
    }

    /// How the person was. Other numbers are reserved.
    public struct Health: RawRepresentable, Hashable, Sendable {
        /// The number, of which the lower four bits are sent.
        public let rawValue: UInt8
        /// Any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// A little ill.
        public static let minorIssues = Health(rawValue: 1)
        /// Very ill.
        public static let majorIssues = Health(rawValue: 2)
        /// During menses.
        public static let duringMenses = Health(rawValue: 3)
        /// Under stress.
        public static let underStress = Health(rawValue: 4)
        /// Well.
        public static let noIssues = Health(rawValue: 5)
        /// Nobody says.
        public static let notAvailable = Health(rawValue: 15)
    }
}

extension GlucoseMeasurementContext.CarbohydrateSource: NamedConstants {
    static let names = consecutive(from: 1, "breakfast", "lunch", "dinner", "snack", "drink", "supper", "brunch")
}

extension GlucoseMeasurementContext.Meal: NamedConstants {
    static let names = consecutive(from: 1, "preprandial", "postprandial", "fasting", "casual", "bedtime")
}

extension GlucoseMeasurementContext.Tester: NamedConstants {
    static let names = consecutive(
        from: 1, "oneself", "healthCareProfessional", "laboratory", and: [15: "notAvailable"])
}

extension GlucoseMeasurementContext.Health: NamedConstants {
    static let names = consecutive(
        from: 1, "minorIssues", "majorIssues", "duringMenses", "underStress", "noIssues", and: [15: "notAvailable"])
}
