import BLE
import BLEProfiles

extension TypedFields {
    static let everyday: [TypedFields] =
        environmental + battery + time + [
            TypedFields(.immediateAlertLevel),
            TypedFields(.txPowerLevel).refusing(.beyond(-100...20, "Tx Power")),
            TypedFields(
                .udi,
                [
                    "Flags": .none, "UDI Label": "label", "UDI Device Identifier": "deviceIdentifier",
                    "UDI Issuer": "issuer", "UDI Authority": "authority",
                ]
            ).readingNoUTF8(after: 1),
        ]

    private static let environmental: [TypedFields] =
        [
            TypedFields(.temperature), TypedFields(.humidity), TypedFields(.pressure), TypedFields(.dewPoint),
            TypedFields(.heatIndex), TypedFields(.windChill), TypedFields(.elevation), TypedFields(.apparentWindSpeed),
            TypedFields(.trueWindSpeed), TypedFields(.gustFactor), TypedFields(.irradiance), TypedFields(.rainfall),
            TypedFields(.uvIndex), TypedFields(.pollenConcentration), TypedFields(.methaneConcentration),
            TypedFields(.ammoniaConcentration), TypedFields(.carbonMonoxideConcentration),
            TypedFields(.nitrogenDioxideConcentration), TypedFields(.nonMethaneVOCConcentration),
            TypedFields(.ozoneConcentration), TypedFields(.pm1Concentration), TypedFields(.pm2_5Concentration),
            TypedFields(.pm10Concentration), TypedFields(.sulfurDioxideConcentration),
            TypedFields(.sulfurHexafluorideConcentration), TypedFields(.barometricPressureTrend),
            direction(.apparentWindDirection, "Apparent Wind Direction"),
            direction(.trueWindDirection, "True Wind Direction"),
            direction(.magneticDeclination, "Magnetic Declination"),
            TypedFields(.co2Concentration, ["CO2 Concentration": partsPer]),
            TypedFields(.vocConcentration, ["VOC Concentration": partsPer]),
            TypedFields(.magneticFluxDensity2D, axes("X", "Y")),
            TypedFields(.magneticFluxDensity3D, axes("X", "Y", "Z")),
        ]

    private static let partsPer = TypedProperty("", ["value is 65534 or greater": "65534"])

    private static func direction(_ characteristic: Characteristic<Double>, _ name: String) -> TypedFields {
        TypedFields(characteristic).refusing(.beyond(0...359.99, name))
    }

    /// Teslas.
    private static func axes(_ names: String...) -> [String: TypedProperty] {
        Dictionary(
            uniqueKeysWithValues: names.map {
                ("\($0)-Axis", TypedProperty("\($0.lowercased())Microteslas"))
            })
    }

    private static let battery: [TypedFields] = [
        TypedFields(.batteryLevel).refusing(.beyond(0...100, "Battery Level")),
        TypedFields(
            .batteryLevelStatus,
            [
                "Flags": .none, "Power State[0]": "isPresent",
                "Power State[1-2]": .choice("hasWiredPower", "0", "1"),
                "Power State[3-4]": .choice("hasWirelessPower", "0", "1"), "Power State[5-6]": "chargeState",
                "Power State[7-8]": "chargeLevel",
                "Power State[9-11]": TypedProperty("chargingType", ["5": "0", "6": "0", "7": "0"]),
                "Power State[12-14]": TypedProperty("chargingFaults", factor: 1 / 4096), "Identifier": "identifier",
                "Battery Level": "levelPercent",
                "Additional Status[0-1]": .choice("additionalStatus.needsService", "0", "1"),
                "Additional Status[2]": "additionalStatus.hasFault",
            ]
        ).refusing(.beyond(0...100, "Battery Level")),
        TypedFields(.batteryCriticalStatus),
        TypedFields(
            .batteryEnergyStatus,
            [
                "Flags": .none, "External Source Power": "externalSourceWatts", "Present Voltage": "volts",
                "Available Energy": "availableKilowattHours", "Available Battery Capacity": "capacityKilowattHours",
                "Charge Rate": "chargeWatts", "Available Energy at Last Charge": "availableAtLastChargeKilowattHours",
            ]
        )
        .refusing(
            .beyond(
                0...(.infinity), "External Source Power", "Available Energy", "Available Battery Capacity",
                "Available Energy at Last Charge")),
        TypedFields(
            .batteryTimeStatus,
            [
                "Flags": .none, "Time until Discharged": .none, "Time until Discharged on Standby": .none,
                "Time until Recharged": .none,
            ]
        )
        .deriving(estimates),
        TypedFields(
            .batteryHealthStatus,
            [
                "Flags": .none, "Battery Health Summary": "healthPercent", "Cycle Count": "cycleCount",
                "Current Temperature": celsius("temperatureCelsius"), "Deep Discharge Count": "deepDischargeCount",
            ]
        ).refusing(.beyond(0...100, "Battery Health Summary")),
        TypedFields(
            .batteryHealthInformation,
            [
                "Flags": .none, "Cycle Count Designed Lifetime": "designedCycleCount",
                "Min Designed Operating Temperature": celsius("operatingTemperatures.minimumCelsius"),
                "Max Designed Operating Temperature": celsius("operatingTemperatures.maximumCelsius"),
            ]),
        TypedFields(
            .batteryInformation,
            [
                "Flags": .none, "Battery Features": "features",
                "Battery Manufacture Date": "manufactureDate.daysSince1970",
                "Battery Expiration Date": "expirationDate.daysSince1970",
                "Battery Designed Capacity": "designedCapacityKilowattHours",
                "Battery Low Energy": "lowEnergyKilowattHours",
                "Battery Critical Energy": "criticalEnergyKilowattHours", "Battery Chemistry": "chemistry",
                "Nominal Voltage": "nominalVolts",
                "Battery Aggregation Group": TypedProperty("aggregationGroup", ["Not in an aggregation group": "0"]),
            ]
        )
        .refusing(
            .beyond(0...(.infinity), "Battery Designed Capacity", "Battery Low Energy", "Battery Critical Energy"),
            .beyond(0...16_777_214, "Battery Manufacture Date", "Battery Expiration Date")),
        TypedFields(.estimatedServiceDate, ["Estimated Service Date": "daysSince1970"])
            .refusing(.beyond(0...16_777_214, "Estimated Service Date")),
    ]

    private static func celsius(_ name: String) -> TypedProperty {
        TypedProperty(name, ["Greater than 126": "127", "Less than -127": "-128"])
    }

    private static func estimates(_ fields: Fields) -> [String: ReadField.Content?] {
        let names = [
            "Time until Discharged": "untilDischarged",
            "Time until Discharged on Standby": "untilDischargedOnStandby", "Time until Recharged": "untilRecharged",
        ]
        var result: [String: ReadField.Content?] = [:]
        for (name, property) in names {
            if case .special("Greater than 0xFFFFFD") = fields[name] { result[property] = .text("longer") }
            if let minutes = number(name, in: fields) { result["\(property).minutes"] = .number(minutes) }
        }
        return result
    }

    private static let time: [TypedFields] = [
        TypedFields(.dayDateTime, ["Date Time": "dateTime", "Day of Week": day("dayOfWeek")]).refusing(.noDate),
        TypedFields(
            .exactTime256,
            [
                "Day Date Time.Date Time": "dayDateTime.dateTime",
                "Day Date Time.Day of Week": day("dayDateTime.dayOfWeek"),
                "Fractions256": "fractions256",
            ]
        ).refusing(.noDate),
        TypedFields(
            .currentTime,
            [
                "Exact Time 256.Day Date Time.Date Time": "exactTime.dayDateTime.dateTime",
                "Exact Time 256.Day Date Time.Day of Week": day("exactTime.dayDateTime.dayOfWeek"),
                "Exact Time 256.Fractions256": "exactTime.fractions256", "Adjust Reason": "adjustReasons",
            ]
        ).refusing(.noDate),
        TypedFields(.timeZone, ["Time Zone": zone("minutes")]), TypedFields(.dstOffset),
        TypedFields(
            .localTimeInformation,
            ["Time Zone": zone("timeZone.minutes"), "DST Offset": "dstOffset"]),
        TypedFields(
            .referenceTimeInformation,
            [
                "Time Source": "source",
                "Time Accuracy": TypedProperty(
                    "accuracySeconds", ["drift is larger than 31.625s": "inf", "drift is unknown": nil]),
                "Days Since Update": .none, "Hours Since Update": .none,
            ]
        )
        .deriving { fields in
            guard let days = number("Days Since Update", in: fields),
                let hours = number("Hours Since Update", in: fields)
            else { return [:] }
            return ["hoursSinceUpdate": .number(days * 24 + hours)]
        }
        .refusing(
            Reason("there are no more than 24 hours in a day") { fields in
                guard number("Days Since Update", in: fields) != nil,
                    let hours = number("Hours Since Update", in: fields)
                else { return false }
                return hours > 23
            }),
    ]

    /// Quarters of an hour; nil for a reserved number.
    private static func zone(_ name: String) -> TypedProperty {
        .choice(name, Dictionary(uniqueKeysWithValues: (-48...56).map { ("\($0)", "\($0 * 15)") }))
    }

    /// Monday is 1; nil for a reserved number.
    private static func day(_ name: String) -> TypedProperty {
        .choice(name, Dictionary(uniqueKeysWithValues: (1...7).map { ("\($0)", "\($0)") }))
    }
}
